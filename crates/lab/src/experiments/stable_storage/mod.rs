//! The experiment of the fourth source: what versions, transports and stable storage do for a program that reads or
//! writes a file.
//!
//! A server for each kind of storage runs in a process of its own. Those on one device serve one file: an array of
//! disks, or a single one, each of which serves one request at a time ([`crate::disk`]). One program reads or writes
//! the file from its first byte to its last, through the client's cache, which reads ahead and writes behind as a
//! kernel's does: each WRITE of version 2 is stable, and those of version 3 are followed by a COMMIT. READs of version
//! 3 reach the server in any order.

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
use crate::disk::DiskVolume;
use crate::engine::{Error, Experiment, Figures, Needs, PassError};
use crate::file_load::{FileLoad, FileLoadFound};
use crate::processors::{self, Processor};
use crate::scratch::{Parent, Scratch};
use crate::servers::Servers;
use storage::{AGAIN, BOTH, Device, FAST_LOG, NONE, SINGLE, SINGLE_LOG, Storage};

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
    /// Why there are no disks of known speed here, if there are none.
    without_disks: Option<String>,
    runtime: Runtime,
    running: Option<Running>,
}

/// What a run needs.
struct Running {
    // They write to the logs, and end before these are removed.
    sites: Vec<Site>,
    logs: Scratch,
}

impl Drop for Running {
    fn drop(&mut self) {
        // The volume that was made last ends first ([`DiskVolume::new`]).
        while self.sites.pop().is_some() {}
    }
}

/// The servers on one device.
struct Site {
    // They end before the volume that they are on.
    servers: Servers,
    file: PathBuf,
    volume: Option<DiskVolume>,
}

fn make(conditions: &Conditions) -> Result<Box<dyn Experiment>, Error> {
    let runtime = Builder::new_current_thread().enable_all().build().map_err(Error::Thread)?;
    let without_disks = DiskVolume::missing();
    let storages = storage::all(conditions.scale != Scale::Quick, without_disks.is_none());
    Ok(Box::new(StableStorage { conditions: conditions.clone(), storages, without_disks, runtime, running: None }))
}

/// The file is larger than a log, so that a log fills.
fn file_bytes(scale: Scale) -> u64 {
    match scale {
        Scale::Quick => 4 * MIB,
        Scale::Usual => 16 * MIB,
        Scale::Full => 64 * MIB,
    }
}

/// How large a log is: as large as the source's memories, or the same part of a smaller file.
fn log_bytes(scale: Scale) -> u64 {
    if scale == Scale::Quick { MIB } else { 4 * MIB }
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

    fn all_logs_bytes(&self) -> u64 {
        self.storages.len() as u64 * log_bytes(self.conditions.scale)
    }

    /// The devices, the directories on them, and that of the logs.
    fn start(&self) -> Result<Running, Error> {
        let Conditions { program, memory, disk, .. } = &self.conditions;
        let logs = Scratch::new(memory, "stable-storage-logs", self.all_logs_bytes())?;
        if self.without_disks.is_some() {
            let sites = vec![self.site(Device::Array, &logs, disk, None)?];
            return Ok(Running { sites, logs });
        }
        let on_disk = |device: Device| {
            let volume = DiskVolume::new(program, memory, (device.name(), device.model()), self.space_bytes())?;
            self.site(device, &logs, &volume.parent(), Some(volume))
        };
        let sites = Device::ALL.into_iter().map(on_disk).collect::<Result<_, Error>>()?;
        Ok(Running { sites, logs })
    }

    fn site(&self, device: Device, logs: &Scratch, parent: &Parent, volume: Option<DiskVolume>) -> Result<Site, Error> {
        let Conditions { server_program, scale, .. } = &self.conditions;
        let storages = self.storages.iter().filter(|storage| storage.device == device);
        let contenders = storages.map(|storage| storage.server(logs.path(), log_bytes(*scale))).collect();
        let mut servers = Servers::new(server_program, parent, self.space_bytes(), NAME, contenders);
        let file = servers.export()?.join(FILE);
        data_file::make(&file, file_bytes(*scale)).map_err(|source| Error::File { path: file.clone(), source })?;
        Ok(Site { servers, file, volume })
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
        ];
        if self.storage(SINGLE_LOG).is_some() {
            let title = format!("{of_card} the single disk alone");
            tables.push(only(SINGLE_LOG, table(&title, STORAGE, SINGLE, document::card(SINGLE))));
        }
        if self.storage(BOTH).is_some() {
            let title = format!("{of_card} one without group commit");
            tables.push(only(BOTH, table(&title, STORAGE, FAST_LOG, document::card(FAST_LOG))));
        }
        tables
    }

    fn storage(&self, name: &str) -> Option<Storage> {
        self.storages.iter().find(|storage| storage.name == name).copied()
    }

    /// Those figures of the source whose storage is here.
    fn known(&self, mut document: Vec<DocumentRatio>) -> Vec<DocumentRatio> {
        document.retain(|ratio| self.without_disks.is_none() && self.storage(&ratio.levels[STORAGE]).is_some());
        document
    }

    fn skipped(&self) -> Vec<String> {
        let mut skipped = Vec::new();
        if let Some(missing) = &self.without_disks {
            skipped.push(format!(
                "the single disk, and with the speed of the array the source's figures; the array is the disk of \
                 --disk-dir as it is. Missing is: {missing}"
            ));
        }
        if self.storage(BOTH).is_none() {
            skipped.push("group commit, alone and together with a log: left out with --quick".to_owned());
        }
        skipped
    }
}

impl Experiment for StableStorage {
    fn design(&self) -> Design {
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
            skipped: self.skipped(),
        }
    }

    fn settings(&self) -> BTreeMap<String, String> {
        let kib = |version| format!("{} KiB", transfer_bytes(version) >> 10);
        let mut settings = BTreeMap::from([
            ("file".to_owned(), format!("{} MiB", file_bytes(self.conditions.scale) / MIB)),
            ("transfer of version 2".to_owned(), kib(V2)),
            ("transfer of version 3".to_owned(), kib(V3)),
            ("calls in flight".to_owned(), MAX_PENDING.to_string()),
            ("write log".to_owned(), format!("{} MiB, in memory", log_bytes(self.conditions.scale) / MIB)),
            ("read-ahead of the server".to_owned(), "the kernel's".to_owned()),
        ]);
        if self.without_disks.is_none() {
            settings.extend(Device::ALL.map(|device| (device.name().to_owned(), device.model().to_string())));
        }
        settings
    }

    fn needs(&self) -> Needs {
        // One pass in eight writes version 2 to a disk without a log, a call at a time; all others are faster.
        let file_bytes = file_bytes(self.conditions.scale) as f64;
        let pass_seconds = 0.05 + file_bytes / 8.0 / 25e6 + file_bytes / 100e6;
        let round_seconds = Contender::START_SECONDS * self.storages.len() as f64;
        let space_bytes = self.space_bytes() + self.all_logs_bytes();
        let root = Some("disks of known speed (FUSE and loop devices)");
        Needs { pass_seconds, round_seconds, space_bytes, root }
    }

    fn refuses_servers(&self) -> Option<&'static str> {
        Some("it compares ways of Wharf to stable storage")
    }

    fn begin_round(&mut self, _seed: u64) -> Result<(), Error> {
        let running = match self.running.take() {
            Some(running) => running,
            None => self.start()?,
        };
        let Running { sites, logs, .. } = self.running.insert(running);
        remove_files(logs.path()).map_err(|source| Error::File { path: logs.path().to_owned(), source })?;
        sites.iter_mut().try_for_each(|site| site.servers.restart())
    }

    fn pass(&mut self, levels: &Levels, _place: &PassPlace, seed: u64) -> Result<Figures, PassError> {
        let name = &levels[STORAGE];
        let sites = &self.running.as_ref().ok_or(NotBegun)?.sites;
        let (server, file) =
            sites.iter().find_map(|site| Some((site.servers.get(name).ok()?, &site.file))).ok_or(NotBegun)?;
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
            reads_in_any_order: levels[VERSION] == V3,
            bytes_per_second: None,
            seed,
            server_pid: server.pid(),
        };
        let found = processors::on(Processor::Last, || self.runtime.block_on(load.run()))?;
        Ok(figures(&found))
    }

    fn processes(&self) -> Vec<u32> {
        self.running.iter().flat_map(|running| &running.sites).flat_map(Site::processes).collect()
    }
}

impl Site {
    fn processes(&self) -> Vec<u32> {
        self.servers.pids().into_iter().chain(self.volume.as_ref().map(DiskVolume::pid)).collect()
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
    named([
        "Loopback on one machine instead of Ethernet: TCP and UDP differ by what the processors do.",
        "The disks are simulated: each serves one request at a time, and positions each but reads in order. They are as \
         much faster than the source's as the loopback is faster than its Ethernet. An ext4 without a journal lies on each.",
        "The array without memory of its own (SSA) and the single disk (UFS) flush each call by itself.",
        "The array's memory (SSA+RAM) is a write log in this machine's memory in front of the array, and a card in front of \
         the single disk (UFS+Pr) is such a log too. Files are larger than a log, which the source does not tell of its own.",
        "A card with memory in front of the array (SSA+RAM+Pr) is group commit together with that log: one log more in \
         front of a log in memory would only repeat it.",
        "READs of version 3 are sent in any order, eight at a time, without the cache: the source's arrived so, and its file \
         system read no longer ahead. Those of version 2 go through the cache, in order.",
        "The source has no group commit without a log.",
        "The file is written over, and every pass reads or writes all of it; the source does not tell its files' sizes.",
        "The source's tables of versions, transports and memory are compared with the flushed server cache, whose figures \
         it says users want.",
    ])
}
