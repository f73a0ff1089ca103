//! The experiment of the first source: how replies to READ are built and sent, and what that costs.
//!
//! A server for each way runs in a process of its own; all of them serve one file in memory. One program reads or
//! writes that file from its first block to its last through the client's cache, whose blocks have the size of a
//! transfer, as fio did through the source's client.

mod document;
mod factors;
mod way;

use std::collections::BTreeMap;

use client::Options;
use measure::record::{Better, Design, DocumentRatio, Factor, FigureKind, Levels, PassPlace, TableKind};
use tokio::runtime::{Builder, Runtime};

use self::factors::{LOAD, SIZE, WAY};
use super::kind::{Conditions, Kind, Scale, named};
use crate::bench::Order;
use crate::contender::Named;
use crate::engine::{Error, Experiment, Figures, Needs, PassError};
use crate::file_load::{FileLoad, FileLoadFound};
use crate::processors::{self, Processor};
use crate::servers::Servers;

pub(super) const KIND: Kind = Kind {
    name: NAME,
    summary: "what fragments, segment limits and copies cost when replies to READ are sent (source 000)",
    make,
};

const NAME: &str = "reply-path";

const BANDWIDTH: &str = "bandwidth";
const IOPS: &str = "IOPS";
const SERVER_COST: &str = "server cost";
const SERVER_CPU: &str = "server CPU";

/// The file that is read and written.
const FILE: &str = "data";
/// The effective transfer size of the source, though its mount asked for 256 KiB.
const TRANSFER_BYTES: u32 = 64 << 10;
const MIB: u64 = 1 << 20;

struct ReplyPath {
    ways: Vec<Named>,
    servers: Servers,
    scale: Scale,
    runtime: Runtime,
}

fn make(conditions: &Conditions) -> Result<Box<dyn Experiment>, Error> {
    let scale = conditions.scale;
    let ways: Vec<Named> = way::all(scale == Scale::Quick).into_iter().chain(conditions.servers.clone()).collect();
    let servers = Servers::new(&conditions.program, &conditions.memory, space_bytes(scale), NAME, ways.clone());
    let runtime = Builder::new_current_thread().enable_all().build().map_err(Error::Thread)?;
    Ok(Box::new(ReplyPath { ways, servers, scale, runtime }))
}

/// How much of its file a load of this order uses.
fn file_bytes(scale: Scale, order: Order) -> u64 {
    match (scale, order) {
        (Scale::Quick, _) => 32 * MIB,
        (Scale::Usual, _) => 256 * MIB,
        (Scale::Full, Order::Sequential) => 16_000 * MIB,
        (Scale::Full, Order::Random) => 5000 * MIB,
    }
}

/// The file, and room for what servers keep.
fn space_bytes(scale: Scale) -> u64 {
    file_bytes(scale, Order::Sequential) + 16 * MIB
}

impl Experiment for ReplyPath {
    fn design(&self) -> Design {
        Design {
            name: NAME.to_owned(),
            question:
                "What do larger reply buffers, segment limits and copies change for a client that reads and writes \
                       one file, and for the server's processor?"
                    .to_owned(),
            source: Some("FreeBSD NFS server, patch to the reply buffers, fio on a ramdisk, March 2014".to_owned()),
            factors: vec![
                Factor::new(LOAD, named(["read", "randread", "write", "randwrite"])),
                Factor::new(SIZE, named(["4k", "128k"])),
                Factor::new(WAY, self.ways.iter().map(|way| way.name.clone()).collect()),
            ],
            contenders: WAY.to_owned(),
            control: Some(way::AGAIN.to_owned()),
            figures: figure_kinds(),
            tables: vec![
                table("Bandwidth, with COMMIT", BANDWIDTH, Levels::new(), document::bandwidth()),
                table("IOPS", IOPS, Levels::new(), document::iops()),
                table("Processor time of the server for 10⁹ bytes", SERVER_COST, Levels::new(), Vec::new()),
                table("Share of a processor that the server takes", SERVER_CPU, dd_loop(), document::server_cpu()),
            ],
            curves: Vec::new(),
            goals: Vec::new(),
            differences: differences(self.scale),
            skipped: named([
                "copy and zero-copy with fragments or a segment limit: a copied reply is one piece, and the data of a \
                 zero-copy reply is not in it",
                "whole replies with a segment limit: they have fewer segments than any limit",
            ]),
        }
    }

    fn settings(&self) -> BTreeMap<String, String> {
        let mib = |order| format!("{} MiB", file_bytes(self.scale, order) / MIB);
        let mut settings = BTreeMap::from([
            ("file, in order".to_owned(), mib(Order::Sequential)),
            ("file, in random order".to_owned(), mib(Order::Random)),
            ("transfer".to_owned(), format!("{} KiB", TRANSFER_BYTES >> 10)),
            ("version".to_owned(), "3".to_owned()),
        ]);
        settings.extend(self.ways.iter().map(|way| (format!("server {}", way.name), way.contender.to_string())));
        settings
    }

    fn needs(&self) -> Needs {
        // About 1 GB/s.
        self.servers.needs(0.05 + file_bytes(self.scale, Order::Sequential) as f64 / 1e9)
    }

    fn refuses_servers(&self) -> Option<&'static str> {
        None
    }

    fn begin_round(&mut self, _seed: u64) -> Result<(), Error> {
        self.servers.restart_with_file(FILE, file_bytes(self.scale, Order::Sequential))
    }

    fn pass(&mut self, levels: &Levels, _place: &PassPlace, seed: u64) -> Result<Figures, PassError> {
        let server = self.servers.get(&levels[WAY])?;
        let is_write = levels[LOAD].ends_with("write");
        let order = if levels[LOAD].starts_with("rand") { Order::Random } else { Order::Sequential };
        let load = FileLoad {
            url: server.url(FILE),
            order,
            is_write,
            block_bytes: if levels[SIZE] == "4k" { 4 << 10 } else { 128 << 10 },
            file_bytes: file_bytes(self.scale, order),
            transfer_bytes: TRANSFER_BYTES,
            max_pending: Options::default().max_pending,
            seed,
            server_pid: server.pid(),
        };
        let found = processors::on(Processor::Last, || self.runtime.block_on(load.run()))?;
        check_identities(&load, &found)?;
        Ok(figures(&found))
    }

    fn processes(&self) -> Vec<u32> {
        self.servers.pids()
    }
}

fn figure_kinds() -> Vec<FigureKind> {
    use Better::{Higher, Lower, Neither};
    let kind = |(name, unit, better): (&str, &str, Better)| FigureKind::new(name, unit, better);
    [
        (BANDWIDTH, "MB/s", Higher),
        ("bandwidth without COMMIT", "MB/s", Higher),
        (IOPS, "1/s", Higher),
        ("p50", "µs", Lower),
        ("p99", "µs", Lower),
        (SERVER_COST, "s/GB", Lower),
        (SERVER_CPU, "%", Lower),
        ("client cost", "s/GB", Lower),
        ("READ", "calls", Neither),
        ("WRITE", "calls", Neither),
        ("COMMIT", "calls", Neither),
        ("Attr hits", "", Neither),
        ("Attr misses", "", Neither),
        ("BioR hits", "", Neither),
        ("BioR misses", "", Neither),
        ("BioW hits", "", Neither),
        ("BioW misses", "", Neither),
    ]
    .map(kind)
    .to_vec()
}

fn table(title: &str, figure: &str, only: Levels, document: Vec<DocumentRatio>) -> TableKind {
    TableKind { only, document, ..TableKind::new(title, figure, WAY, way::UNPATCHED) }
}

/// The levels of the source's `dd` loop.
fn dd_loop() -> Levels {
    [(LOAD, "read"), (SIZE, "128k")].map(|(factor, level)| (factor.to_owned(), level.to_owned())).into()
}

fn differences(scale: Scale) -> Vec<String> {
    let mut differences = named([
        "Loopback on one machine instead of a network card with a limit of 32 segments: the server's segment limit \
         copies replies that have more, as the card's driver did.",
        "The server runs in user space with one event loop on the first processor; the source's is FreeBSD's kernel.",
        "One program without fio's layout phase; the source's counters include it.",
        "The source has one run each, and no intervals.",
    ]);
    if scale != Scale::Full {
        differences.push("Smaller files than the source's 16 000 MiB and 5000 MiB; --full has these.".to_owned());
    }
    differences
}

fn figures(found: &FileLoadFound) -> Figures {
    let (bytes, caches) = (found.bytes as f64, found.statistics.caches);
    let rate_mb = |seconds: f64| bytes / seconds / 1e6;
    let calls = |name: &str| found.statistics.calls(name) as f64;
    let quantile_us = |q| found.latency_ns.quantile(q) as f64 / 1e3;
    let mut figures = Figures::default();
    for (name, value) in [
        (BANDWIDTH, rate_mb(found.elapsed_with_commit.as_secs_f64())),
        ("bandwidth without COMMIT", rate_mb(found.elapsed.as_secs_f64())),
        (IOPS, found.operations as f64 / found.elapsed.as_secs_f64()),
        ("p50", quantile_us(0.5)),
        ("p99", quantile_us(0.99)),
        ("client cost", found.client_cpu.as_secs_f64() / (bytes / 1e9)),
        ("READ", calls("READ")),
        ("WRITE", calls("WRITE")),
        ("COMMIT", calls("COMMIT")),
        ("Attr hits", caches.attributes.hits as f64),
        ("Attr misses", caches.attributes.misses as f64),
        ("BioR hits", caches.block_reads.hits as f64),
        ("BioR misses", caches.block_reads.misses as f64),
        ("BioW hits", caches.block_writes.hits as f64),
        ("BioW misses", caches.block_writes.misses as f64),
    ] {
        figures.set(name, value);
    }
    if let Some(cpu) = found.server_cpu {
        figures.set(SERVER_COST, cpu.as_secs_f64() / (bytes / 1e9));
        figures.set(SERVER_CPU, cpu.as_secs_f64() / found.elapsed_with_commit.as_secs_f64() * 100.0);
    }
    figures.set_latency(&found.latency_ns);
    figures
}

/// The client's counters do not add up.
#[derive(Debug, thiserror::Error)]
#[error("the client's counters disagree: {what} is {is}, and must be {must}")]
struct Disagreement {
    what: &'static str,
    is: u64,
    must: u64,
}

/// Checks what must hold between the counters of the client, the file and the operations.
fn check_identities(load: &FileLoad, found: &FileLoadFound) -> Result<(), Disagreement> {
    let caches = found.statistics.caches;
    let transfers = load.file_bytes.div_ceil(load.transfer_bytes.into());
    // An operation looks at each block that it touches.
    let looks = found.operations * u64::from(load.block_bytes.div_ceil(load.transfer_bytes));
    let sum = |found: client::HitsMisses| found.hits + found.misses;
    let (statistics, writes) = (&found.statistics, found.statistics.calls("WRITE"));
    let getattrs = statistics.calls("GETATTR");
    let of_procedures = statistics.procedures().map(|(_, counted)| counted.calls).sum();
    let mut identities = vec![
        ("the number of calls", statistics.rpc.calls, of_procedures),
        ("the number of replies", statistics.rpc.replies, statistics.rpc.calls),
        // Only a lookup that misses asks for attributes; several may share a GETATTR.
        ("the number of GETATTRs", getattrs, getattrs.min(caches.attributes.misses)),
    ];
    identities.extend(match load.is_write {
        false => vec![
            ("BioR hits + misses", sum(caches.block_reads), looks),
            ("the number of READs", statistics.calls("READ"), transfers),
        ],
        // A block is written as often as parts of it are dirty when it leaves: once where the program writes all of it.
        true => {
            let most = if load.block_bytes < load.transfer_bytes { found.operations } else { transfers };
            vec![
                ("BioW hits + misses", sum(caches.block_writes), looks),
                ("the number of WRITEs", writes, writes.clamp(transfers, most)),
            ]
        }
    });
    match identities.into_iter().find(|(_, is, must)| is != must) {
        Some((what, is, must)) => Err(Disagreement { what, is, must }),
        None => Ok(()),
    }
}
