//! The experiment of the first source: how replies to READ are built and sent, and what that costs.
//!
//! A server for each way runs in a process of its own; all of them serve one file in memory. One program reads or
//! writes that file from its first block to its last through the client's cache, whose blocks have the size of a
//! transfer, as fio did through the source's client.
//!
//! Two further loads need no fast machine: one reads no faster than the reference can, as the
//! source's `dd` did, and shows the server's share of a processor; one reads from servers under callgrind and shows
//! their instructions.

mod document;
mod factors;
mod figures;
mod identities;
mod load;
mod way;

use std::collections::BTreeMap;

use measure::record::{Design, DocumentRatio, Factor, Levels, PassPlace, TableKind};
use tokio::runtime::{Builder, Runtime};

use self::factors::{COUNTED, LOAD, SIZE, STEADY, TRANSFER_BYTES, WAY};
use self::figures::{BANDWIDTH, INSTRUCTIONS, IOPS, SERVER_COST, SERVER_CPU};
use self::load::{FILE, reading};
use super::kind::{Conditions, Kind, Scale, named};
use crate::bench::Order;
use crate::contender::{self, Copies, Named, Server};
use crate::engine::{Error, Experiment, Figures, Needs, PassError};
use crate::file_load::FileLoad;
use crate::processors::{self, Processor};
use crate::servers::Servers;

pub(super) const KIND: Kind = Kind {
    name: NAME,
    summary: "what fragments, segment limits and copies cost when replies to READ are sent (source 000)",
    make,
};

const NAME: &str = "reply-path";

const MIB: u64 = 1 << 20;

/// The share of the reference's bandwidth that the steady load reads at.
const STEADY_SHARE: f64 = 0.6;
/// How often the reference reads its file before a round, to find its bandwidth: the fastest counts.
const PEAK_TRIES: u32 = 3;
/// The files that are read from a server under callgrind. The difference of two counts is that of their READs: starting
/// and ending cancel out.
const COUNTED_BYTES: [u64; 2] = [2 * MIB, 32 * MIB];
/// The ways whose instructions are counted, since it takes seconds.
const COUNTED_WAYS: [&str; 4] = [way::UNPATCHED, way::AGAIN, way::PATCHED, way::NO_LIMIT];

struct ReplyPath {
    ways: Vec<Named>,
    servers: Servers,
    scale: Scale,
    runtime: Runtime,
    can_count: bool,
    /// The bandwidth of the reference in this round, in bytes per second.
    peak: f64,
}

fn make(conditions: &Conditions) -> Result<Box<dyn Experiment>, Error> {
    let scale = conditions.scale;
    let ways: Vec<Named> = way::all(scale == Scale::Quick).into_iter().chain(conditions.servers.clone()).collect();
    let servers = Servers::new(&conditions.program, &conditions.memory, space_bytes(scale), NAME, ways.clone());
    let runtime = Builder::new_current_thread().enable_all().build().map_err(Error::Thread)?;
    Ok(Box::new(ReplyPath { ways, servers, scale, runtime, can_count: contender::can_count(), peak: 0.0 }))
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
                Factor::new(LOAD, named(["read", "randread", "write", "randwrite", STEADY, COUNTED])),
                Factor::new(SIZE, named(["4k", "128k"])),
                Factor::new(WAY, self.ways.iter().map(|way| way.name.clone()).collect()),
            ],
            contenders: WAY.to_owned(),
            control: Some(way::AGAIN.to_owned()),
            figures: figures::kinds(),
            tables: vec![
                table("Bandwidth, with COMMIT", BANDWIDTH, Levels::new(), document::bandwidth()),
                table("IOPS", IOPS, Levels::new(), document::iops()),
                table("Processor time of the server for 10⁹ bytes", SERVER_COST, Levels::new(), Vec::new()),
                table(
                    "Share of a processor that the server takes at 60 % of the reference's bandwidth",
                    SERVER_CPU,
                    only_load(STEADY),
                    document::server_cpu(),
                ),
                table("Instructions of the server for a READ", INSTRUCTIONS, only_load(COUNTED), Vec::new()),
            ],
            curves: Vec::new(),
            goals: Vec::new(),
            differences: differences(self.scale),
            skipped: self.skipped(),
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

    fn has(&self, levels: &Levels) -> bool {
        let is_counted = levels[SIZE] == "128k" && COUNTED_WAYS.contains(&levels[WAY].as_str());
        match levels[LOAD].as_str() {
            STEADY => levels[SIZE] == "128k",
            COUNTED => self.can_count && is_counted,
            _ => true,
        }
    }

    fn refuses_servers(&self) -> Option<&'static str> {
        None
    }

    fn begin_round(&mut self, _seed: u64) -> Result<(), Error> {
        self.servers.restart_with_file(FILE, file_bytes(self.scale, Order::Sequential))?;
        self.peak = self.find_peak()?;
        Ok(())
    }

    fn pass(&mut self, levels: &Levels, _place: &PassPlace, seed: u64) -> Result<Figures, PassError> {
        if levels[LOAD] == COUNTED {
            return self.count(&levels[WAY]);
        }
        let server = self.servers.get(&levels[WAY])?;
        let is_steady = levels[LOAD] == STEADY;
        let order = if levels[LOAD].starts_with("rand") { Order::Random } else { Order::Sequential };
        let load = FileLoad {
            order,
            is_write: levels[LOAD].ends_with("write"),
            block_bytes: if levels[SIZE] == "4k" { 4 << 10 } else { 128 << 10 },
            file_bytes: file_bytes(self.scale, order),
            bytes_per_second: is_steady.then_some(self.peak * STEADY_SHARE),
            seed,
            ..reading(server, 0)
        };
        let before = copies_of(server, &levels[WAY])?;
        let found = processors::on(Processor::Last, || self.runtime.block_on(load.run()))?;
        let copies = before.zip(copies_of(server, &levels[WAY])?).map(|(before, now)| now.since(before));
        identities::check(&load, &found, &levels[WAY], copies)?;
        Ok(figures::of(&found, copies, is_steady))
    }

    fn processes(&self) -> Vec<u32> {
        self.servers.pids()
    }
}

/// The copies of replies that a server made so far; nothing for one that is not a way.
fn copies_of(server: &Server, way: &str) -> Result<Option<Copies>, PassError> {
    if way::flattened(way, 0).is_none() { Ok(None) } else { Ok(server.copies()?) }
}

impl ReplyPath {
    /// How fast the reference reads now, in bytes per second.
    fn find_peak(&self) -> Result<f64, Error> {
        let bytes = file_bytes(self.scale, Order::Sequential);
        let server = self.servers.get(way::UNPATCHED).map_err(|error| unready(&error))?;
        let mut peak: f64 = 0.0;
        for _ in 0..PEAK_TRIES {
            let load = reading(server, bytes);
            let found = processors::on(Processor::Last, || self.runtime.block_on(load.run()));
            peak = peak.max(bytes as f64 / found.map_err(|error| unready(&error))?.elapsed.as_secs_f64());
        }
        Ok(peak)
    }

    /// Counts the instructions of a server for a READ.
    fn count(&mut self, way: &str) -> Result<Figures, PassError> {
        let contender = way::counted(way).ok_or_else(|| PassError(format!("'{way}' cannot be counted")))?;
        let (mut instructions, mut reads) = ([0; 2], [0; 2]);
        for (index, bytes) in COUNTED_BYTES.into_iter().enumerate() {
            let server = self.servers.start_another(&format!("{way}, counted"), &contender)?;
            let load = FileLoad { server_pid: None, ..reading(&server, bytes) };
            let found = processors::on(Processor::Last, || self.runtime.block_on(load.run()))?;
            reads[index] = found.statistics.calls("READ");
            instructions[index] = server.instructions()?;
        }
        let mut figures = Figures::default();
        let too_few =
            || PassError(format!("{instructions:?} instructions for {reads:?} READs: the counts do not grow"));
        let more = |[few, many]: [u64; 2]| many.checked_sub(few).filter(|&more| more > 0).ok_or_else(too_few);
        figures.set(INSTRUCTIONS, more(instructions)? as f64 / more(reads)? as f64);
        Ok(figures)
    }

    fn skipped(&self) -> Vec<String> {
        let mut skipped = named([
            "copy and zero-copy with fragments or a segment limit: a copied reply is one piece, and the data of a \
             zero-copy reply is not in it",
            "whole replies with a segment limit: they have fewer segments than any limit",
        ]);
        if !self.can_count {
            skipped.push("instructions: valgrind, whose callgrind counts them, is not installed".to_owned());
        }
        skipped
    }
}

/// The reference cannot be made ready for a round.
fn unready(error: &dyn std::error::Error) -> Error {
    Error::Unready { server: way::UNPATCHED.to_owned(), reason: error.to_string() }
}

fn table(title: &str, figure: &str, only: Levels, document: Vec<DocumentRatio>) -> TableKind {
    TableKind { only, document, ..TableKind::new(title, figure, WAY, way::UNPATCHED) }
}

fn only_load(load: &str) -> Levels {
    [(LOAD, load), (SIZE, "128k")].map(|(factor, level)| (factor.to_owned(), level.to_owned())).into()
}

fn differences(scale: Scale) -> Vec<String> {
    let mut differences = named([
        "Loopback on one machine instead of a network card with a limit of 32 segments: the server copies replies \
         that have more, to memory outside of the processor's caches, as the card's driver did.",
        "The server runs in user space with one event loop on the first processor; the source's is FreeBSD's kernel.",
        "One program without fio's layout phase; the source's counters include it.",
        "The source has one run each, and no intervals.",
    ]);
    if scale != Scale::Full {
        differences.push("Smaller files than the source's 16 000 MiB and 5000 MiB; --full has these.".to_owned());
    }
    differences
}
