//! Servers beside each other: Wharf, NFS-Ganesha where it is installed, and those that `--server` names.
//!
//! Each load is put on each server, right before or after it is put on Wharf. All serve one directory in memory.

mod loads;

use std::collections::BTreeMap;
use std::net::{Ipv4Addr, TcpStream};
use std::time::Duration;

use measure::record::{Design, Factor, Levels, Machine, Place, TableKind};

use self::loads::Load;
use super::{AGAIN, Conditions, Kind, Scale, WHARF, named, wharf_twice};
use crate::bench::{End, Files};
use crate::bench_load::{self, BANDWIDTH, MEMORY, OPERATIONS, SERVER_COST};
use crate::contender::{Contender, Named};
use crate::engine::{Block, Error, Experiment, Figures, Needs, PassError};
use crate::servers::Servers;

pub(super) const KIND: Kind = Kind {
    name: NAME,
    summary: "how fast servers are: Wharf, NFS-Ganesha, and others that you name, by operation",
    make,
};

const NAME: &str = "peers";
const VERSION: &str = "version";
const LOAD: &str = "load";
const SERVER: &str = "server";

const GANESHA: &str = "NFS-Ganesha";
/// Wharf that keeps no open files; only loads whose connections have files of their own show what that costs.
const UNCACHED: &str = "Wharf without open files";

const READ_FILE: &str = "data";
const WRITE_FILE: &str = "written";
const LARGE_DIRECTORY: &str = "names";
const EMPTY_DIRECTORY: &str = "made";
/// The file of each connection has its number behind this and a dot.
const OWN_FILE: &str = "own";
const OWN_FILE_BYTES: u64 = 1 << 20;
const MIB: u64 = 1 << 20;

struct Peers {
    contenders: Vec<Named>,
    servers: Servers,
    scale: Scale,
    loads: Vec<Load>,
    skipped: Vec<String>,
}

fn make(conditions: &Conditions) -> Result<Box<dyn Experiment>, Error> {
    let scale = conditions.scale;
    let (mut contenders, mut skipped) = (wharf_twice(), Vec::new());
    let uncached = ["--open-files", "0"].map(str::to_owned).to_vec();
    contenders.push(Named { name: UNCACHED.to_owned(), contender: Contender::Wharf(uncached) });
    match ganesha() {
        Ok(ganesha) => contenders.push(ganesha),
        Err(why) => skipped.push(why),
    }
    contenders.extend(conditions.servers.clone());
    let space = (&conditions.memory, space_bytes(scale));
    let servers = Servers::new(&conditions.program, space, NAME, contenders.clone());
    Ok(Box::new(Peers { contenders, servers, scale, loads: loads::of(scale), skipped }))
}

/// NFS-Ganesha, or why it takes no part.
fn ganesha() -> Result<Named, String> {
    const RPCBIND_PORT: u16 = 111;
    let path = std::env::var_os("PATH").unwrap_or_default();
    let is_installed = std::env::split_paths(&path).any(|folder| folder.join("ganesha.nfsd").is_file());
    let why = match (is_installed, TcpStream::connect((Ipv4Addr::LOCALHOST, RPCBIND_PORT)).is_ok()) {
        (true, true) => return Ok(Named { name: GANESHA.to_owned(), contender: Contender::Ganesha }),
        (true, false) => {
            "NFS-Ganesha: it needs rpcbind on port 111 of this machine; start it as root with `rpcbind -i`"
        }
        (false, _) => "NFS-Ganesha: it is not installed (Debian: nfs-ganesha nfs-ganesha-vfs rpcbind)",
    };
    Err(why.to_owned())
}

/// How many names the large directory has: one listing has to end in the time of a pass.
fn names(scale: Scale) -> u32 {
    if scale == Scale::Quick { 1000 } else { 10_000 }
}

fn read_file_bytes(scale: Scale) -> u64 {
    if scale == Scale::Quick { 32 * MIB } else { 256 * MIB }
}

fn space_bytes(scale: Scale) -> u64 {
    2 * read_file_bytes(scale) + u64::from(loads::MAX_OWN_FILES) * OWN_FILE_BYTES + 64 * MIB
}

/// How long a pass measures; a quarter of that before does not count.
fn runtime(scale: Scale) -> Duration {
    Duration::from_millis(match scale {
        Scale::Quick => 200,
        Scale::Usual => 1000,
        Scale::Full => 2000,
    })
}

impl Experiment for Peers {
    fn design(&self) -> Design {
        let table = |title: &str, figure: &str, (factor, baseline): (&str, &str)| {
            TableKind::new(title, figure, factor, baseline)
        };
        let mut names: Vec<String> = Vec::new();
        for load in &self.loads {
            if !names.contains(&load.name) {
                names.push(load.name.clone());
            }
        }
        let (by_server, by_version) = ((SERVER, WHARF), (VERSION, "3"));
        Design {
            name: NAME.to_owned(),
            question: "How fast are other servers, and what do they cost, compared with Wharf?".to_owned(),
            source: None,
            factors: vec![
                Factor::new(VERSION, named(["3", "4.1", "4.2"])),
                Factor::new(LOAD, names),
                Factor::new(SERVER, self.contenders.iter().map(|server| server.name.clone()).collect()),
            ],
            contenders: SERVER.to_owned(),
            control: Some(AGAIN.to_owned()),
            figures: bench_load::figure_kinds(),
            tables: vec![
                table("Operations a second", OPERATIONS, by_server),
                table("Bandwidth", BANDWIDTH, by_server),
                table("Processor time of the server for an operation", SERVER_COST, by_server),
                table("The most memory of the server", MEMORY, by_server),
                table("Operations a second, by version", OPERATIONS, by_version),
            ],
            curves: Vec::new(),
            differences: Vec::new(),
            skipped: self.skipped.clone(),
        }
    }

    fn settings(&self) -> BTreeMap<String, String> {
        let mut settings = BTreeMap::from([
            ("file that is read and written".to_owned(), format!("{} MiB", read_file_bytes(self.scale) / MIB)),
            ("names of the listed directory".to_owned(), names(self.scale).to_string()),
            ("time of a pass".to_owned(), format!("{} ms", runtime(self.scale).as_millis())),
        ]);
        settings.extend(self.contenders.iter().map(|one| (format!("server {}", one.name), one.contender.to_string())));
        settings
    }

    fn needs(&self) -> Needs {
        let pass_seconds = runtime(self.scale).as_secs_f64() * 1.25 + 0.1;
        Needs { pass_seconds, space_bytes: space_bytes(self.scale), root: Some("NFS-Ganesha is left out without it") }
    }

    fn has(&self, levels: &Levels) -> bool {
        let load = self.loads.iter().find(|load| load.version == levels[VERSION] && load.name == levels[LOAD]);
        load.is_some_and(|load| match levels[SERVER].as_str() {
            UNCACHED => load.has_own_files,
            // Its READ_PLUS has replies that no client understands.
            GANESHA => load.version != "4.2",
            _ => true,
        })
    }

    fn takes_servers(&self) -> bool {
        true
    }

    fn describe(&self, machine: &mut Machine) {
        super::describe_programs(&self.contenders, machine);
    }

    fn begin_block(&mut self, _block: &Block) -> Result<(), Error> {
        self.servers.make_file_once(READ_FILE, read_file_bytes(self.scale))?;
        self.servers.make_file_once(WRITE_FILE, read_file_bytes(self.scale))?;
        self.servers.restart()?;
        self.servers.make_directory(EMPTY_DIRECTORY, 0)?;
        self.servers.make_directory(LARGE_DIRECTORY, names(self.scale))
    }

    fn pass(&mut self, levels: &Levels, _place: &Place, seed: u64) -> Result<Figures, PassError> {
        let server = self.servers.get(&levels[SERVER])?;
        let load = self.loads.iter().find(|load| load.version == levels[VERSION] && load.name == levels[LOAD]);
        let load = load.ok_or_else(|| PassError("there is no such load".to_owned()))?;
        let mut url = server.url(load.file);
        url.parameters.version = Some(super::version(load.version)?);
        let runtime = runtime(self.scale);
        let job = crate::bench::Job {
            workload: load.workload.parse()?,
            block_bytes: load.block_bytes,
            connections: load.connections,
            depth: load.depth,
            stable_writes: load.has_stable_writes,
            files: if load.has_own_files { Files::OnePerConnection } else { Files::One },
            file_bytes: if load.has_own_files { OWN_FILE_BYTES } else { read_file_bytes(self.scale) },
            end: End::After(runtime),
            warm_up: runtime / 4,
            seed,
            server_pid: server.pid(),
            ..bench_load::job(url)
        };
        bench_load::measure(&job)
    }

    fn processes(&self) -> Vec<u32> {
        self.servers.pids()
    }
}
