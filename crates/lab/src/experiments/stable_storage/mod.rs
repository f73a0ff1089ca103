//! The experiment of the fourth source: what versions, transports and stable storage do for a program that reads or
//! writes a file.
//!
//! A server for each kind of storage runs in a process of its own; all of them serve one file on disk. One program
//! reads or writes the file from its first byte to its last, through the client's cache, which reads ahead and writes
//! behind as a kernel's does: each WRITE of version 2 is stable, and those of version 3 are followed by a COMMIT.

mod document;
mod factors;
mod storage;

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::path::{Path, PathBuf};

use client::{Transport, Version};
use measure::record::{Better, Design, DocumentRatio, Factor, FigureKind, Levels, PassPlace, TableKind};
use tokio::runtime::{Builder, Runtime};

use self::factors::{CACHE, FLUSHED, LOAD, READ, STORAGE, TCP, TRANSPORT, UDP, V2, V3, VERSION, WARM, WRITE};
use super::kind::{Conditions, Kind, Scale, named};
use crate::bench::Order;
use crate::cache::{self, CacheState};
use crate::contender::Contender;
use crate::data_file;
use crate::engine::{Error, Experiment, Figures, Needs, PassError};
use crate::file_load::{FileLoad, FileLoadFound};
use crate::processors::{self, Processor};
use crate::scratch::Scratch;
use crate::servers::Servers;
use storage::{AGAIN, BOTH, FAST_LOG, LOG_MIB, NONE, SLOW, SLOW_LOG, SLOW_MS, Storage};

pub(super) const KIND: Kind = Kind {
    name: NAME,
    summary: "what version 3, TCP, write logs and a warm cache do for reads and writes (source 003)",
    make,
};

const NAME: &str = "stable-storage";

const THROUGHPUT: &str = "throughput";

const FILE: &str = "data";
/// How many calls the client has in progress: as many as a kernel client of the source's time had threads for them.
const MAX_PENDING: usize = 8;
const MIB: u64 = 1 << 20;

struct StableStorage {
    conditions: Conditions,
    storages: Vec<Storage>,
    runtime: Runtime,
    running: Option<Running>,
}

/// What a run needs.
struct Running {
    // Before the directory of the logs, so that they end before it is removed.
    servers: Servers,
    logs: Scratch,
    file: PathBuf,
}

fn make(conditions: &Conditions) -> Result<Box<dyn Experiment>, Error> {
    let runtime = Builder::new_current_thread().enable_all().build().map_err(Error::Thread)?;
    let storages = storage::all(conditions.scale == Scale::Quick);
    Ok(Box::new(StableStorage { conditions: conditions.clone(), storages, runtime, running: None }))
}

fn file_bytes(scale: Scale) -> u64 {
    match scale {
        Scale::Quick => MIB,
        Scale::Usual => 8 * MIB,
        Scale::Full => 64 * MIB,
    }
}

/// The most data of one call: all that version 2 has room for, and what kernels of the source's time used with version
/// 3.
fn transfer_bytes(version: &str) -> u32 {
    if version == V2 { 8 << 10 } else { 32 << 10 }
}

impl StableStorage {
    /// The file, and room for what servers keep.
    fn space_bytes(&self) -> u64 {
        file_bytes(self.conditions.scale) + 16 * MIB
    }

    fn log_bytes(&self) -> u64 {
        self.storages.len() as u64 * u64::from(LOG_MIB) * MIB
    }

    /// The directories of the servers and of their logs.
    fn start(&self) -> Result<Running, Error> {
        let Conditions { server_program, memory, disk, .. } = &self.conditions;
        let logs = Scratch::new(memory, "stable-storage-logs", self.log_bytes())?;
        let contenders = self.storages.iter().map(|storage| storage.server(logs.path())).collect();
        let mut servers = Servers::new(server_program, disk, self.space_bytes(), NAME, contenders);
        let file = servers.export()?.join(FILE);
        data_file::make(&file, file_bytes(self.conditions.scale))
            .map_err(|source| Error::File { path: file.clone(), source })?;
        Ok(Running { servers, logs, file })
    }

    fn tables(&self) -> Vec<TableKind> {
        let table = |title: &str, factor: &str, baseline: &str, document| TableKind {
            document: self.known(document),
            ..TableKind::new(title, THROUGHPUT, factor, baseline)
        };
        let only = |level: &str, table| TableKind { only: [(STORAGE.to_owned(), level.to_owned())].into(), ..table };
        let of_card = "Throughput with a write log, relative to";
        let mut tables = vec![
            table(
                "Throughput with a flushed server cache, relative to a warm one",
                CACHE,
                WARM,
                document::flushed_to_warm(),
            ),
            table("Throughput of version 3, relative to version 2", VERSION, V2, document::v3_to_v2()),
            table("Throughput over TCP, relative to UDP", TRANSPORT, UDP, document::tcp_to_udp()),
            table("Throughput by stable storage, relative to none", STORAGE, NONE, document::array_memory()),
            only(SLOW_LOG, table(&format!("{of_card} the slow device alone"), STORAGE, SLOW, document::card(SLOW))),
        ];
        if self.has_storage(BOTH) {
            let title = format!("{of_card} one without group commit");
            tables.push(only(BOTH, table(&title, STORAGE, FAST_LOG, document::card(FAST_LOG))));
        }
        tables
    }

    fn has_storage(&self, name: &str) -> bool {
        self.storages.iter().any(|storage| storage.name == name)
    }

    /// Those figures of the source whose storage is here.
    fn known(&self, mut document: Vec<DocumentRatio>) -> Vec<DocumentRatio> {
        document.retain(|ratio| self.has_storage(&ratio.levels[STORAGE]));
        document
    }
}

impl Experiment for StableStorage {
    fn design(&self) -> Design {
        let skipped: &[&str] = match self.has_storage(BOTH) {
            true => &[],
            false => &["group commit, alone and together with a log: left out with --quick"],
        };
        Design {
            name: NAME.to_owned(),
            question:
                "What do version 3, TCP, fast stable storage and a warm server cache do for a program that reads or \
                       writes a file?"
                    .to_owned(),
            source: Some("NFS Read/Write Performance, Mike Kupfer, Sun, about 1995".to_owned()),
            factors: vec![
                Factor::new(LOAD, named([READ, WRITE])),
                Factor::new(CACHE, named([WARM, FLUSHED])),
                Factor::new(TRANSPORT, named([UDP, TCP])),
                Factor::new(VERSION, named([V2, V3])),
                Factor::new(STORAGE, self.storages.iter().map(|storage| storage.name.to_owned()).collect()),
            ],
            contenders: STORAGE.to_owned(),
            control: Some(AGAIN.to_owned()),
            figures: vec![
                FigureKind::new(THROUGHPUT, "MB/s", Better::Higher),
                FigureKind::new("server cost", "s/GB", Better::Lower),
                FigureKind::new("WRITE", "calls", Better::Neither),
                FigureKind::new("COMMIT", "calls", Better::Neither),
                FigureKind::new("READ", "calls", Better::Neither),
                FigureKind::new("retransmissions", "calls", Better::Neither),
            ],
            tables: self.tables(),
            curves: Vec::new(),
            goals: Vec::new(),
            differences: differences(),
            skipped: skipped.iter().map(|&text| text.to_owned()).collect(),
        }
    }

    fn settings(&self) -> BTreeMap<String, String> {
        let kib = |version| format!("{} KiB", transfer_bytes(version) >> 10);
        BTreeMap::from([
            ("file".to_owned(), format!("{} MiB", file_bytes(self.conditions.scale) / MIB)),
            ("transfer of version 2".to_owned(), kib(V2)),
            ("transfer of version 3".to_owned(), kib(V3)),
            ("calls in flight".to_owned(), MAX_PENDING.to_string()),
            ("slow device".to_owned(), format!("{SLOW_MS} ms for all that has to be stable")),
            ("write log".to_owned(), format!("{LOG_MIB} MiB, in memory")),
        ])
    }

    fn needs(&self) -> Needs {
        let calls = file_bytes(self.conditions.scale) / u64::from(transfer_bytes(V2));
        // One pass in eight writes version 2 to a slow device; all others are as fast as a disk.
        let slow_seconds = calls as f64 / MAX_PENDING as f64 * f64::from(SLOW_MS) / 1e3;
        let pass_seconds = 0.05 + slow_seconds / 8.0 + file_bytes(self.conditions.scale) as f64 / 50e6;
        let round_seconds = Contender::START_SECONDS * self.storages.len() as f64;
        Needs { pass_seconds, round_seconds, space_bytes: self.space_bytes() + self.log_bytes(), root: None }
    }

    fn refuses_servers(&self) -> Option<&'static str> {
        Some("it compares ways of Wharf to stable storage")
    }

    fn begin_round(&mut self, _seed: u64) -> Result<(), Error> {
        let running = match self.running.take() {
            Some(running) => running,
            None => self.start()?,
        };
        let Running { servers, logs, .. } = self.running.insert(running);
        remove_files(logs.path()).map_err(|source| Error::File { path: logs.path().to_owned(), source })?;
        servers.restart()
    }

    fn pass(&mut self, levels: &Levels, _place: &PassPlace, seed: u64) -> Result<Figures, PassError> {
        let Running { servers, file, .. } = self.running.as_ref().ok_or(NotBegun)?;
        let server = servers.get(&levels[STORAGE])?;
        // What earlier passes have left to be written disturbs nobody.
        File::open(file)?.sync_data()?;
        cache::bring_to(file, if levels[CACHE] == WARM { CacheState::Warm } else { CacheState::Cold })?;
        let mut url = server.url(FILE);
        url.parameters.version = Some(if levels[VERSION] == V2 { Version::V2 } else { Version::V3 });
        url.parameters.transport = Some(if levels[TRANSPORT] == UDP { Transport::Udp } else { Transport::Tcp });
        let transfer_bytes = transfer_bytes(&levels[VERSION]);
        let load = FileLoad {
            url,
            order: Order::Sequential,
            is_write: levels[LOAD] == WRITE,
            block_bytes: transfer_bytes,
            file_bytes: file_bytes(self.conditions.scale),
            transfer_bytes,
            max_pending: MAX_PENDING,
            bytes_per_second: None,
            seed,
            server_pid: server.pid(),
        };
        let found = processors::on(Processor::Last, || self.runtime.block_on(load.run()))?;
        Ok(figures(&found))
    }

    fn processes(&self) -> Vec<u32> {
        self.running.as_ref().map_or(Vec::new(), |running| running.servers.pids())
    }
}

/// A pass came before its block.
#[derive(Debug, thiserror::Error)]
#[error("no server was started")]
struct NotBegun;

fn remove_files(folder: &Path) -> std::io::Result<()> {
    fs::read_dir(folder)?.try_for_each(|entry| fs::remove_file(entry?.path()))
}

fn figures(found: &FileLoadFound) -> Figures {
    let (bytes, mut figures) = (found.bytes as f64, Figures::default());
    figures.set(THROUGHPUT, bytes / found.elapsed_with_commit.as_secs_f64() / 1e6);
    for procedure in ["READ", "WRITE", "COMMIT"] {
        figures.set(procedure, found.statistics.calls(procedure) as f64);
    }
    figures.set("retransmissions", found.statistics.rpc.retransmissions as f64);
    if let Some(cpu) = found.server_cpu {
        figures.set("server cost", cpu.as_secs_f64() / (bytes / 1e9));
    }
    figures
}

/// How this set-up differs from the source's, and which of its servers stands for which of ours.
fn differences() -> Vec<String> {
    let mut differences = named([
        "Loopback on one machine instead of Ethernet: TCP and UDP differ by what the processors do.",
        "The source's array without memory of its own (SSA) is the disk as it is, with each call flushed by itself.",
        "The array's memory (SSA+RAM) is a write log in this machine's memory in front of the disk.",
        "A card with memory in front of the array (SSA+RAM+Pr) is group commit together with that log: one log more in \
         front of a log in memory would only repeat it.",
        "The source has no group commit without a log.",
        "The file is written over, and every pass reads or writes all of it; the source does not tell its files' sizes.",
        "The source's tables of versions, transports and memory are compared with the flushed server cache, whose figures \
         it says users want.",
    ]);
    differences.push(format!(
        "The single disk (UFS) is the same disk with a delay of {SLOW_MS} ms before each stable write and flush, made by the \
         file system of faults. It needs no root, and loop devices cannot be slowed alike on all kernels; calls in flight \
         together wait together, and reads are not delayed. With a write log in front it is UFS+Pr."
    ));
    differences
}
