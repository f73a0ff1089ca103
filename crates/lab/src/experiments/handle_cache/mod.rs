//! The experiment of the second source: what it saves a server to keep open files by their handles.
//!
//! So many processes read a file of their own each, from its first byte to its last, through a client's cache. The
//! files are on a single disk ([`crate::disk`]) and not in the server's memory. Where files are opened for each READ,
//! what the kernel knows of a reader is lost with each close. The same is done with an export whose opens are slow.

mod document;
mod factors;
mod readers;

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::Duration;

use measure::record::{Better, Design, DocumentRatio, Factor, FigureKind, Levels, PassPlace, TableKind};
use tokio::runtime::{Builder, Runtime};

use self::document::SIZES;
use self::factors::{AGAIN, BANDWIDTH, CACHE, COUNTED, OFF, ON, OPENS, PLAIN, PROCESSES, SLOW, bandwidth_of};
use self::readers::{MAX_PENDING, TRANSFER_BYTES};
use super::count::{self, INSTRUCTIONS, NO_COUNTER};
use super::kind::{Conditions, Kind, Scale, named};
use crate::cache;
use crate::contender::{self, Contender, Named, Server, Work};
use crate::disk::{DiskVolume, Model};
use crate::engine::{Error, Experiment, Figures, Needs, PassError};
use crate::process::Process;
use crate::processors::{self, Processor};
use crate::servers::Servers;

pub(super) const KIND: Kind = Kind {
    name: NAME,
    summary: "what a cache of open files saves a server, by the number of processes that read (source 001)",
    make,
};

const NAME: &str = "handle-cache";

const SERVER_COST: &str = "server cost";
const OPENED: &str = "opens";

/// How long each slow open takes.
const OPEN_DELAY: Duration = Duration::from_micros(200);
/// How many processes there are where opens are slow or counted.
const FEW_PROCESSES: u32 = 4;
const MIB: u64 = 1 << 20;
/// The least that a process reads: the largest of the source's reads.
const MIN_FILE_BYTES: u64 = 128 << 10;

struct HandleCache {
    conditions: Conditions,
    /// Why there is no disk of known speed here, if there is none.
    without_disk: Option<String>,
    can_count: bool,
    runtime: Runtime,
    running: Option<Running>,
}

/// What a run needs.
struct Running {
    // On the volume, and ended before it.
    servers: Servers,
    export: PathBuf,
    volume: Option<DiskVolume>,
}

fn make(conditions: &Conditions) -> Result<Box<dyn Experiment>, Error> {
    let runtime = Builder::new_current_thread().enable_all().build().map_err(Error::Thread)?;
    let without_disk = DiskVolume::missing();
    let can_count = conditions.scale != Scale::Quick && contender::can_count();
    Ok(Box::new(HandleCache { conditions: conditions.clone(), without_disk, can_count, runtime, running: None }))
}

fn server(cache: &str, opens: &str) -> Named {
    Named { name: server_name(cache, opens), contender: Contender::Wharf(arguments(cache, opens)) }
}

/// What `wharf serve` is told. The kernel reads ahead, as the source's did.
fn arguments(cache: &str, opens: &str) -> Vec<String> {
    let mut arguments = ["--read-ahead", "kernel", "--log-level", "info"].map(str::to_owned).to_vec();
    if cache != ON {
        arguments.extend(["--open-files".to_owned(), "0".to_owned()]);
    }
    if opens == SLOW {
        arguments.extend(["--fault".to_owned(), format!("open:delay={}us", OPEN_DELAY.as_micros())]);
    }
    arguments
}

fn server_name(cache: &str, opens: &str) -> String {
    format!("cache {cache}, {opens} opens")
}

fn processes(scale: Scale) -> Vec<u32> {
    match scale {
        Scale::Quick => vec![4, 64],
        Scale::Usual | Scale::Full => [1].into_iter().chain(document::processes()).collect(),
    }
}

fn sizes(scale: Scale) -> Vec<u32> {
    match scale {
        Scale::Quick => vec![256, 131_072],
        Scale::Usual | Scale::Full => SIZES.to_vec(),
    }
}

/// The bytes of each file: all processes together read as much, but for those that would read less than one read.
fn file_bytes(scale: Scale, processes: u32) -> u64 {
    let all_bytes = match scale {
        Scale::Quick => 4 * MIB,
        Scale::Usual => 8 * MIB,
        Scale::Full => 128 * MIB,
    };
    (all_bytes / u64::from(processes)).max(MIN_FILE_BYTES)
}

/// What the files of all numbers of processes take. None of them is read in part, since READs ahead would be left over.
fn files_bytes(scale: Scale) -> u64 {
    processes(scale).into_iter().map(|count| u64::from(count) * file_bytes(scale, count)).sum()
}

/// The same, and room for what servers and their counters keep.
fn space_bytes(scale: Scale) -> u64 {
    files_bytes(scale) + 48 * MIB
}

impl HandleCache {
    fn scale(&self) -> Scale {
        self.conditions.scale
    }

    fn start(&self) -> Result<Running, Error> {
        let Conditions { program, server_program, memory, disk, scale, .. } = &self.conditions;
        let volume = match self.without_disk {
            Some(_) => None,
            None => Some(DiskVolume::new(program, memory, (NAME, Model::SINGLE), space_bytes(*scale))?),
        };
        let parent = volume.as_ref().map_or(disk.clone(), DiskVolume::parent);
        let each = [PLAIN, SLOW].into_iter().flat_map(|opens| [OFF, AGAIN, ON].map(|cache| server(cache, opens)));
        let mut servers = Servers::new(server_program, &parent, space_bytes(*scale), NAME, each.collect());
        let export = servers.export()?;
        for count in processes(*scale) {
            (0..count)
                .try_for_each(|number| servers.make_file(&readers::file(count, number), file_bytes(*scale, count)))?;
        }
        servers.sync()?;
        Ok(Running { servers, export, volume })
    }

    /// Reads the files of so many processes once.
    fn read_all(&self, server: &Server, processes: u32, size: u32) -> Result<readers::Found, PassError> {
        let reading = readers::read_all(server, processes, file_bytes(self.scale(), processes), size);
        Ok(processors::on(Processor::Last, || self.runtime.block_on(reading))?)
    }

    /// Counts the instructions of a server for a READ, with a mount for each process.
    fn count(&mut self, cache: &str) -> Result<Figures, PassError> {
        let running = self.running.as_mut().ok_or(NotBegun)?;
        let contender = Contender::CountedWharf(arguments(cache, COUNTED));
        let server = running.servers.start_another(&server_name(cache, COUNTED), &contender)?;
        let read = |server: &Server| Ok(self.read_all(server, FEW_PROCESSES, TRANSFER_BYTES)?.reads);
        let mut figures = Figures::default();
        figures.set(INSTRUCTIONS, count::per_read(server, read)?);
        Ok(figures)
    }

    /// A table of a figure by the cache, with ratios of the source.
    fn table(&self, title: &str, figure: &str, mut document: Vec<DocumentRatio>) -> TableKind {
        let processes = named_numbers(&processes(self.scale()));
        document.retain(|ratio| self.without_disk.is_none() && processes.contains(&ratio.levels[PROCESSES]));
        TableKind { document, ..TableKind::new(title, figure, CACHE, OFF) }
    }

    fn tables(&self) -> Vec<TableKind> {
        let of_size = |size: u32| {
            let title = format!("Bandwidth of all processes, reads of {size} bytes");
            self.table(&title, &bandwidth_of(size), document::ratios(size))
        };
        let mut tables = vec![
            self.table("Bandwidth of all processes", BANDWIDTH, document::pooled()),
            self.table("Processor time of the server for a READ", SERVER_COST, Vec::new()),
            self.table("Instructions of the server for a READ", INSTRUCTIONS, Vec::new()),
        ];
        tables.extend(sizes(self.scale()).into_iter().map(of_size));
        tables
    }
}

fn named_numbers(numbers: &[u32]) -> Vec<String> {
    numbers.iter().map(u32::to_string).collect()
}

impl Experiment for HandleCache {
    fn design(&self) -> Design {
        let of_size = |size: u32| FigureKind::new(&bandwidth_of(size), "KB/s", Better::Higher);
        let mut figures = vec![
            FigureKind::new(BANDWIDTH, "KB/s", Better::Higher),
            FigureKind::new(SERVER_COST, "µs/READ", Better::Lower),
            FigureKind::new(INSTRUCTIONS, "per READ", Better::Lower),
            FigureKind::new(OPENED, "1/READ", Better::Neither),
        ];
        figures.extend(sizes(self.scale()).into_iter().map(of_size));
        let missing = self.without_disk.iter();
        let skipped = missing.map(|missing| {
            format!("the source's figures: the files are on the disk of --disk-dir as it is. Missing is: {missing}")
        });
        let uncounted = (!self.can_count).then(|| match self.scale() {
            Scale::Quick => "instructions: left out with --quick".to_owned(),
            Scale::Usual | Scale::Full => NO_COUNTER.to_owned(),
        });
        Design {
            name: NAME.to_owned(),
            question: "How much faster do processes that read different files get when the server keeps them open?"
                .to_owned(),
            source: Some("Linux NFS server, RFC patch for a cache of file handles, December 2008".to_owned()),
            factors: vec![
                Factor::new(OPENS, named([PLAIN, SLOW, COUNTED])),
                Factor::new(PROCESSES, named_numbers(&processes(self.scale()))),
                Factor::new(CACHE, named([OFF, AGAIN, ON])),
            ],
            contenders: CACHE.to_owned(),
            control: Some(AGAIN.to_owned()),
            figures,
            tables: self.tables(),
            curves: Vec::new(),
            goals: Vec::new(),
            differences: named([
                "Loopback on one machine, and a simulated disk, which serves one request at a time; it is as much faster \
                 than the source's as the loopback is faster than its network.",
                "The sizes of reads are repetitions: the source's client has a cache, and its bandwidth hardly depends on \
                 them. The first table compares all of them together, with the harmonic mean of the source's.",
                "The source had as many server threads as processes.",
                "The processes are mounts of one program, each with a connection and a cache of its own.",
                "The source does not tell the size of its files.",
            ]),
            skipped: skipped.chain(uncounted).collect(),
        }
    }

    fn settings(&self) -> BTreeMap<String, String> {
        let all = processes(self.scale());
        let bytes: Vec<String> =
            all.iter().map(|count| format!("{}", file_bytes(self.scale(), *count) >> 10)).collect();
        let mut settings = BTreeMap::from([
            ("file of each process".to_owned(), format!("{} KiB", bytes.join(", "))),
            ("READ".to_owned(), format!("{} KiB, up to {MAX_PENDING} of a process in flight", TRANSFER_BYTES >> 10)),
            ("server cache".to_owned(), "cold, verified".to_owned()),
            ("read-ahead of the server".to_owned(), "the kernel's".to_owned()),
            ("slow open".to_owned(), format!("{} µs", OPEN_DELAY.as_micros())),
            ("version".to_owned(), "3".to_owned()),
        ]);
        if self.without_disk.is_none() {
            settings.insert("disk".to_owned(), Model::SINGLE.to_string());
        }
        settings
    }

    fn needs(&self) -> Needs {
        let scale = self.scale();
        let bytes_of_pass = files_bytes(scale) as f64 / processes(scale).len() as f64;
        let size_seconds = 0.05 + bytes_of_pass / 75e6;
        let root = Some("a disk of known speed (FUSE and a loop device)");
        let counted = if self.can_count { Contender::COUNTED_START_SECONDS * 3.0 } else { 0.0 };
        let round_seconds = Contender::START_SECONDS * 6.0 + counted;
        let pass_seconds = size_seconds * sizes(scale).len() as f64;
        Needs { pass_seconds, round_seconds, space_bytes: space_bytes(scale), root }
    }

    fn has(&self, levels: &Levels) -> bool {
        let is_few = levels[PROCESSES] == FEW_PROCESSES.to_string();
        levels[OPENS] == PLAIN || (is_few && (levels[OPENS] == SLOW || self.can_count))
    }

    fn refuses_servers(&self) -> Option<&'static str> {
        Some("it compares Wharf with and without its cache of open files")
    }

    fn begin_round(&mut self, _seed: u64) -> Result<(), Error> {
        let running = match self.running.take() {
            Some(running) => running,
            None => self.start()?,
        };
        self.running.insert(running).servers.restart()
    }

    fn pass(&mut self, levels: &Levels, _place: &PassPlace, _seed: u64) -> Result<Figures, PassError> {
        if levels[OPENS] == COUNTED {
            return self.count(&levels[CACHE]);
        }
        let Running { servers, export, .. } = self.running.as_ref().ok_or(NotBegun)?;
        let server = servers.get(&server_name(&levels[CACHE], &levels[OPENS]))?;
        let processes = levels[PROCESSES].parse()?;
        let paths: Vec<PathBuf> = (0..processes).map(|number| export.join(readers::file(processes, number))).collect();
        let spent = || server.pid().map_or(Ok(Duration::ZERO), |pid| Process::Id(pid).time());
        let (work, cpu) = (server.work()?, spent()?);
        let (mut all, mut figures) = (Total::default(), Figures::default());
        for size in sizes(self.conditions.scale) {
            cache::take_out(&paths)?;
            let found = self.read_all(server, processes, size)?;
            figures.set(&bandwidth_of(size), kilobytes_per_second(found.bytes, found.elapsed));
            all.add(&found);
        }
        let cpu = spent()?.saturating_sub(cpu);
        let opened = work.zip(server.work()?).map(|(before, now): (Work, Work)| now.since(before).opened_files);
        figures.set(BANDWIDTH, kilobytes_per_second(all.bytes, all.elapsed));
        figures.set(SERVER_COST, cpu.as_secs_f64() * 1e6 / all.reads as f64);
        figures.set(OPENED, opened.unwrap_or(0) as f64 / all.reads as f64);
        Ok(figures)
    }

    fn processes(&self) -> Vec<u32> {
        let of =
            |running: &Running| [running.servers.pids(), running.volume.iter().map(DiskVolume::pid).collect()].concat();
        self.running.as_ref().map(of).unwrap_or_default()
    }
}

/// What reads of all sizes found.
#[derive(Default)]
struct Total {
    bytes: u64,
    reads: u64,
    elapsed: Duration,
}

impl Total {
    fn add(&mut self, found: &readers::Found) {
        self.bytes += found.bytes;
        self.reads += found.reads;
        self.elapsed += found.elapsed;
    }
}

fn kilobytes_per_second(bytes: u64, elapsed: Duration) -> f64 {
    bytes as f64 / elapsed.as_secs_f64() / 1024.0
}

/// A pass came before its round.
#[derive(Debug, thiserror::Error)]
#[error("no server was started")]
struct NotBegun;
