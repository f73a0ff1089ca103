//! Clients beside each other: Wharf's library, a mount of it, and libnfs.
//!
//! Each reads a file once from its beginning to its end, as one that has just connected.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use measure::record::{Better, Design, Factor, FigureKind, Levels, PassPlace, TableKind};
use tokio::runtime::{Builder, Runtime};

use super::contenders::WHARF;
use super::kind::{self, Conditions, Kind, Scale, named};
use crate::bench::Order;
use crate::contender::{Contender, Named, Server};
use crate::engine::{Error, Experiment, Figures, Needs, PassError};
use crate::file_load::FileLoad;
use crate::mounted::{MountPoint, Mounter};
use crate::process::Process;
use crate::processors::{self, Processor};
use crate::servers::Servers;

pub(super) const KIND: Kind =
    Kind { name: NAME, summary: "how fast clients read a file: Wharf's library, its mount, libnfs", make };

const NAME: &str = "clients";
const SERVER: &str = "server";
const VERSION: &str = "version";
const CLIENT: &str = "client";
const BANDWIDTH: &str = "bandwidth";
const CLIENT_COST: &str = "client cost";

const LIBRARY: &str = "Wharf's library";
const AGAIN: &str = "Wharf's library, again (A/A)";
const MOUNT: &str = "Wharf's mount";
const LIBNFS: &str = "libnfs (nfs-cat)";

const FILE: &str = "data";
/// The bytes that a program reads at once.
const BLOCK_BYTES: u32 = 1 << 20;
/// The bytes of a READ of the library.
const TRANSFER_BYTES: u32 = 256 << 10;
const MIB: u64 = 1 << 20;

struct Clients {
    clients: Vec<&'static str>,
    contenders: Vec<Named>,
    servers: Servers,
    scale: Scale,
    runtime: Runtime,
    program: PathBuf,
    /// Where exports are mounted, from the first round on.
    mount_point: Option<MountPoint>,
    skipped: Vec<String>,
}

fn make(conditions: &Conditions) -> Result<Box<dyn Experiment>, Error> {
    let (mut clients, mut skipped) = (vec![LIBRARY, AGAIN], Vec::new());
    match Mounter::Wharf.missing() {
        None => clients.push(MOUNT),
        Some(why) => skipped.push(format!("Wharf's mount: {why}")),
    }
    match is_installed("nfs-cat") {
        true => clients.push(LIBNFS),
        false => skipped.push("libnfs: nfs-cat is not installed (Debian: libnfs-utils)".to_owned()),
    }
    let wharf = Named { name: WHARF.to_owned(), contender: Contender::Wharf(Vec::new()) };
    let contenders = [vec![wharf], conditions.servers.clone()].concat();
    let (scale, program) = (conditions.scale, conditions.server_program.clone());
    let servers = Servers::new(&program, &conditions.memory, space_bytes(scale), NAME, contenders.clone());
    let runtime = Builder::new_current_thread().enable_all().build().map_err(Error::Thread)?;
    Ok(Box::new(Clients { clients, contenders, servers, scale, runtime, program, mount_point: None, skipped }))
}

fn is_installed(program: &str) -> bool {
    let path = std::env::var_os("PATH").unwrap_or_default();
    std::env::split_paths(&path).any(|folder| folder.join(program).is_file())
}

fn file_bytes(scale: Scale) -> u64 {
    match scale {
        Scale::Quick => 32 * MIB,
        Scale::Usual => 512 * MIB,
        Scale::Full => 4096 * MIB,
    }
}

fn space_bytes(scale: Scale) -> u64 {
    file_bytes(scale) + 16 * MIB
}

impl Experiment for Clients {
    fn design(&self) -> Design {
        let table = |title: &str, figure: &str| TableKind::new(title, figure, CLIENT, LIBRARY);
        Design {
            name: NAME.to_owned(),
            question: "How fast do clients read a file that the server has in memory, and what does it cost them?"
                .to_owned(),
            source: None,
            factors: vec![
                Factor::new(SERVER, self.contenders.iter().map(|server| server.name.clone()).collect()),
                Factor::new(VERSION, named(["3", "4.2"])),
                Factor::new(CLIENT, self.clients.iter().map(|&client| client.to_owned()).collect()),
            ],
            contenders: CLIENT.to_owned(),
            control: Some(AGAIN.to_owned()),
            figures: vec![
                FigureKind::new(BANDWIDTH, "MB/s", Better::Higher),
                FigureKind::new(CLIENT_COST, "s/GB", Better::Lower),
            ],
            tables: vec![
                table("Bandwidth", BANDWIDTH),
                table("Processor time of the client for 10⁹ bytes", CLIENT_COST),
            ],
            curves: Vec::new(),
            goals: Vec::new(),
            differences: named([
                "The time of nfs-cat includes its start, its connection and a pipe.",
                "The processor time of a mount is not told: it is that of several programs and the kernel.",
            ]),
            skipped: self.skipped.clone(),
        }
    }

    fn settings(&self) -> BTreeMap<String, String> {
        let mut settings = BTreeMap::from([
            ("file".to_owned(), format!("{} MiB", file_bytes(self.scale) / MIB)),
            ("read at once".to_owned(), format!("{} KiB", BLOCK_BYTES >> 10)),
        ]);
        settings.extend(self.contenders.iter().map(|one| (format!("server {}", one.name), one.contender.to_string())));
        settings
    }

    fn needs(&self) -> Needs {
        // About 500 MB/s.
        let needs = self.servers.needs(0.1 + file_bytes(self.scale) as f64 / 500e6);
        Needs { root: Some("Wharf's mount is left out without it"), ..needs }
    }

    fn has(&self, levels: &Levels) -> bool {
        // libnfs 4 speaks NFSv3 and NFSv4.0.
        levels[CLIENT] != LIBNFS || levels[VERSION] == "3"
    }

    fn refuses_servers(&self) -> Option<&'static str> {
        None
    }

    fn begin_round(&mut self, _seed: u64) -> Result<(), Error> {
        if self.mount_point.is_none() && self.clients.contains(&MOUNT) {
            self.mount_point = Some(MountPoint::new()?);
        }
        self.servers.restart_with_file(FILE, file_bytes(self.scale))
    }

    fn pass(&mut self, levels: &Levels, _place: &PassPlace, seed: u64) -> Result<Figures, PassError> {
        let server = self.servers.get(&levels[SERVER])?;
        let (version, bytes) = (&levels[VERSION], file_bytes(self.scale));
        let (elapsed, cpu) = match levels[CLIENT].as_str() {
            MOUNT => (self.by_mount(server, version)?, None),
            LIBNFS => by_libnfs(server, bytes)?,
            _ => self.by_library(server, version, seed)?,
        };
        let mut figures = Figures::default();
        figures.set(BANDWIDTH, bytes as f64 / elapsed.as_secs_f64() / 1e6);
        if let Some(cpu) = cpu {
            figures.set(CLIENT_COST, cpu.as_secs_f64() / (bytes as f64 / 1e9));
        }
        Ok(figures)
    }

    fn processes(&self) -> Vec<u32> {
        self.servers.pids()
    }
}

/// How long it took, and the client's processor time where it is known.
type Taken = (Duration, Option<Duration>);

impl Clients {
    fn by_library(&self, server: &Server, version: &str, seed: u64) -> Result<Taken, PassError> {
        let mut url = server.url(FILE);
        url.parameters.version = Some(kind::version(version)?);
        let load = FileLoad {
            url,
            order: Order::Sequential,
            is_write: false,
            block_bytes: BLOCK_BYTES,
            file_bytes: file_bytes(self.scale),
            transfer_bytes: TRANSFER_BYTES,
            max_pending: client::Options::default().max_pending,
            reads_in_any_order: false,
            bytes_per_second: None,
            seed,
            server_pid: server.pid(),
        };
        let found = processors::on(Processor::Last, || self.runtime.block_on(load.run()))?;
        Ok((found.elapsed, Some(found.client_cpu)))
    }

    fn by_mount(&self, server: &Server, version: &str) -> Result<Duration, PassError> {
        let options = format!("ro,vers={version}");
        let point = self.mount_point.as_ref().ok_or(NotMounted)?;
        let mount = || point.mount(Mounter::Wharf, &self.program, server, &options);
        let mounted = processors::on(Processor::Last, mount)?;
        let read = processors::on(Processor::Last, || read_through(&mounted.file(FILE)));
        mounted.unmount()?;
        let (bytes, elapsed) = read?;
        whole(bytes, file_bytes(self.scale))?;
        Ok(elapsed)
    }
}

/// A mount is wanted before the first round.
#[derive(Debug, thiserror::Error)]
#[error("no directory is ready for a mount")]
struct NotMounted;

fn by_libnfs(server: &Server, wanted: u64) -> Result<Taken, PassError> {
    let mut command = Command::new("nfs-cat");
    command.arg(server.url_text(FILE, Some("3"))).stdout(Stdio::piped());
    let cpu = Process::Children.time()?;
    let began = Instant::now();
    let mut child = processors::on(Processor::Last, || command.spawn())?;
    let read = child.stdout.take().map_or(Ok(0), drain);
    let elapsed = began.elapsed();
    let status = child.wait()?;
    if !status.success() {
        return Err(PassError(format!("nfs-cat ended with {status}")));
    }
    whole(read?, wanted)?;
    Ok((elapsed, Some(Process::Children.time()?.saturating_sub(cpu))))
}

fn whole(got: u64, wanted: u64) -> Result<(), PassError> {
    if got == wanted { Ok(()) } else { Err(PassError(format!("{got} of {wanted} bytes were read"))) }
}

fn read_through(path: &Path) -> Result<(u64, Duration), PassError> {
    let began = Instant::now();
    let bytes = drain(File::open(path)?)?;
    Ok((bytes, began.elapsed()))
}

/// Reads to the end; how many bytes that were.
fn drain(mut from: impl Read) -> io::Result<u64> {
    let (mut buffer, mut bytes) = (vec![0; BLOCK_BYTES as usize], 0);
    loop {
        match from.read(&mut buffer)? {
            0 => return Ok(bytes),
            count => bytes += count as u64,
        }
    }
}
