//! The experiment of the first source: how replies to READ are built and sent, and what that costs.
//!
//! A server for each way runs in a process of its own; all of them serve one file in memory. One program reads or
//! writes that file from its first block to its last through the client's cache, whose blocks have the size of a
//! transfer, as fio did through the source's client.
//!
//! Further loads need no fast machine. Two read from servers that get a part of a processor, over a wire, so that their
//! replies are what limits the client. One reads no faster than the reference can, as the source's `dd` did, and shows
//! the server's share of a processor. One reads from servers whose instructions are counted.

mod count;
mod document;
mod factors;
mod figures;
mod identities;
mod load;
mod way;
mod wired;

use std::collections::BTreeMap;

use measure::record::{Design, DocumentRatio, Factor, Levels, PassPlace, TableKind};
use tokio::runtime::{Builder, Runtime};

use self::factors::{COUNTED, LIMITED, LOAD, SIZE, STEADY, TRANSFER_BYTES, WAY};
use self::figures::{BANDWIDTH, IOPS, SERVER_COST, SERVER_CPU};
use self::load::{FILE, LIMITED_FILE, reading};
use self::wired::Wired;
use super::count::{INSTRUCTIONS, NO_COUNTER};
use super::kind::{Conditions, Kind, Scale, named};
use crate::bench::Order;
use crate::contender::{self, Contender, Named, Server, Work};
use crate::engine::{Error, Experiment, Figures, Needs, PassError};
use crate::file_load::FileLoad;
use crate::processors::{self, Processor};
use crate::quota::Share;
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

struct ReplyPath {
    ways: Vec<Named>,
    servers: Servers,
    scale: Scale,
    runtime: Runtime,
    can_count: bool,
    /// Why no server can be limited here, if it cannot.
    unlimited: Option<String>,
    wired: Option<Wired>,
    /// The levels of the loads that are left in.
    loads: Option<Vec<String>>,
    /// The bandwidth of the reference in this round, in bytes per second.
    peak: f64,
}

fn make(conditions: &Conditions) -> Result<Box<dyn Experiment>, Error> {
    let scale = conditions.scale;
    let ways: Vec<Named> = way::all(scale == Scale::Quick).into_iter().chain(conditions.servers.clone()).collect();
    let servers = Servers::new(&conditions.server_program, &conditions.memory, space_bytes(scale), NAME, ways.clone());
    let runtime = Builder::new_current_thread().enable_all().build().map_err(Error::Thread)?;
    let (can_count, unlimited) = (contender::can_count(), Wired::missing());
    Ok(Box::new(ReplyPath { ways, servers, scale, runtime, can_count, unlimited, wired: None, loads: None, peak: 0.0 }))
}

/// How much of its file a load of this order uses.
fn file_bytes(scale: Scale, order: Order) -> u64 {
    match (scale, order) {
        (Scale::Quick, _) => 16 * MIB,
        (Scale::Usual, _) => 256 * MIB,
        (Scale::Full, Order::Sequential) => 16_000 * MIB,
        (Scale::Full, Order::Random) => 5000 * MIB,
    }
}

/// How much of it a load uses whose server is limited.
fn limited_bytes(scale: Scale) -> u64 {
    match scale {
        Scale::Quick => 32 * MIB,
        Scale::Usual => 128 * MIB,
        Scale::Full => 1024 * MIB,
    }
}

/// The files, and room for what servers keep.
fn space_bytes(scale: Scale) -> u64 {
    file_bytes(scale, Order::Sequential) + limited_bytes(scale) + count::FILE_BYTES + 16 * MIB
}

fn is_limited(load: &str) -> bool {
    LIMITED.contains(&load)
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
                Factor::new(
                    LOAD,
                    named(["read", "randread", "write", "randwrite", LIMITED[0], LIMITED[1], STEADY, COUNTED]),
                ),
                Factor::new(SIZE, named(["4k", "128k"])),
                Factor::new(WAY, self.ways.iter().map(|way| way.name.clone()).collect()),
            ],
            contenders: WAY.to_owned(),
            control: Some(way::AGAIN.to_owned()),
            figures: figures::kinds(),
            tables: vec![
                table(
                    "Bandwidth, with COMMIT",
                    BANDWIDTH,
                    Levels::new(),
                    document::bandwidth(self.unlimited.is_none()),
                ),
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
            ("file, server limited".to_owned(), format!("{} MiB", limited_bytes(self.scale) / MIB)),
            ("limited server".to_owned(), limit()),
            ("transfer".to_owned(), format!("{} KiB", TRANSFER_BYTES >> 10)),
            ("version".to_owned(), "3".to_owned()),
        ]);
        settings.extend(self.ways.iter().map(|way| (format!("server {}", way.name), way.contender.to_string())));
        settings
    }

    fn needs(&self) -> Needs {
        // About 1 GB/s.
        let needs = self.servers.needs(0.05 + file_bytes(self.scale, Order::Sequential) as f64 / 1e9);
        let root = Some("servers that get a part of a processor, and a wire between two networks");
        Needs { round_seconds: needs.round_seconds + self.longer_seconds(), root, ..needs }
    }

    fn has(&self, levels: &Levels) -> bool {
        let (is_quick, is_large) = (self.scale == Scale::Quick, levels[SIZE] == "128k");
        let way = levels[WAY].as_str();
        let is_compared = way::COMPARED.contains(&way);
        if is_quick && !is_large {
            return false;
        }
        match levels[LOAD].as_str() {
            STEADY => is_large,
            COUNTED => self.can_count && is_large && is_compared && (!is_quick || way::SOURCE.contains(&way)),
            load if is_limited(load) => self.unlimited.is_none() && is_compared,
            _ => true,
        }
    }

    fn leave_in(&mut self, levels: &BTreeMap<String, Vec<String>>) {
        self.loads = levels.get(LOAD).cloned();
    }

    fn refuses_servers(&self) -> Option<&'static str> {
        None
    }

    fn reference_rate(&self) -> Option<f64> {
        Some(self.peak)
    }

    fn set_reference_rate(&mut self, rate: f64) {
        self.peak = rate;
    }

    fn begin_round(&mut self, _seed: u64) -> Result<(), Error> {
        self.servers.restart_with_file(FILE, file_bytes(self.scale, Order::Sequential))?;
        if self.has_load(|load| load == COUNTED) {
            count::prepare(&mut self.servers)?;
        }
        if self.unlimited.is_none() && self.has_load(is_limited) {
            self.servers.make_file_once(LIMITED_FILE, limited_bytes(self.scale))?;
            self.restart_wired()?;
        }
        if self.has_load(|load| load == STEADY) {
            self.peak = self.find_peak()?;
        }
        Ok(())
    }

    fn pass(&mut self, levels: &Levels, _place: &PassPlace, seed: u64) -> Result<Figures, PassError> {
        if levels[LOAD] == COUNTED {
            return count::run(&mut self.servers, &self.runtime, &levels[WAY]);
        }
        let wired = self.wired.as_ref().filter(|_| is_limited(&levels[LOAD]));
        let server = wired.map_or_else(|| self.servers.get(&levels[WAY]), |wired| wired.get(&levels[WAY]))?;
        let load = self.load(levels, server, seed);
        let before = work_of(server, &levels[WAY])?;
        let run = || processors::on(Processor::Last, || self.runtime.block_on(load.run()));
        let found = wired.map_or_else(|| Ok(run()), |wired| wired.here(run))??;
        let work = before.zip(work_of(server, &levels[WAY])?).map(|(before, now)| now.since(before));
        identities::check(&load, &found, &levels[WAY], work)?;
        Ok(figures::of(&found, work, levels[LOAD] == STEADY))
    }

    fn processes(&self) -> Vec<u32> {
        let wired = self.wired.iter().flat_map(Wired::pids);
        self.servers.pids().into_iter().chain(wired).collect()
    }
}

/// What a server did so far; nothing for one that is not a way.
fn work_of(server: &Server, way: &str) -> Result<Option<Work>, PassError> {
    if way::flattened(way, 0).is_none() { Ok(None) } else { Ok(server.work()?) }
}

impl ReplyPath {
    /// About how much longer than other loads those take in a round whose servers are counted or limited.
    fn longer_seconds(&self) -> f64 {
        let (counted, limited) = if self.scale == Scale::Quick { (2.0, 12.0) } else { (6.0, 24.0) };
        let mut seconds = 0.0;
        if self.can_count && self.has_load(|load| load == COUNTED) {
            seconds += counted * Contender::COUNTED_START_SECONDS;
        }
        if self.unlimited.is_none() && self.has_load(is_limited) {
            // About 200 MB/s.
            seconds += limited * limited_bytes(self.scale) as f64 / 2e8;
        }
        seconds
    }

    /// Whether such a load is left in.
    fn has_load(&self, is_meant: impl Fn(&str) -> bool) -> bool {
        self.loads.as_ref().is_none_or(|loads| loads.iter().any(|load| is_meant(load)))
    }

    fn restart_wired(&mut self) -> Result<(), Error> {
        let compared = |way: &&Named| way::COMPARED.contains(&way.name.as_str());
        let ways: Vec<Named> = self.ways.iter().filter(compared).cloned().collect();
        let wired = match self.wired.take() {
            Some(wired) => wired,
            None => Wired::new()?,
        };
        self.wired.insert(wired).restart(&mut self.servers, &ways)
    }

    /// What a pass does.
    fn load(&self, levels: &Levels, server: &Server, seed: u64) -> FileLoad {
        let name = levels[LOAD].as_str();
        let order = if name.starts_with("rand") { Order::Random } else { Order::Sequential };
        let all = match is_limited(name) {
            true => FileLoad { url: server.url(LIMITED_FILE), ..reading(server, limited_bytes(self.scale)) },
            false => reading(server, file_bytes(self.scale, order)),
        };
        FileLoad {
            order,
            is_write: name.ends_with("write"),
            block_bytes: if levels[SIZE] == "4k" { 4 << 10 } else { 128 << 10 },
            bytes_per_second: (name == STEADY).then_some(self.peak * STEADY_SHARE),
            seed,
            ..all
        }
    }

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

    fn skipped(&self) -> Vec<String> {
        let mut skipped = named([
            "copy and zero-copy with fragments or a segment limit: a copied reply is one piece, and the data of a \
             zero-copy reply is not in it",
            "whole replies with a segment limit: they have fewer segments than any limit",
        ]);
        if !self.can_count {
            skipped.push(NO_COUNTER.to_owned());
        }
        if self.scale == Scale::Quick {
            skipped.push(
                "operations of 4 KiB, and servers that the source does not compare: left out with --quick".to_owned(),
            );
        }
        if let Some(reason) = &self.unlimited {
            skipped.push(format!("servers that get a part of a processor, and the source's reads with them: {reason}"));
        }
        skipped
    }
}

/// How a limited server is limited.
fn limit() -> String {
    let Share { quota_us, period_us } = wired::SHARE;
    let (gbit, mtu) = (wired::LINK.bits_per_second / 1_000_000_000, wired::LINK.mtu);
    format!("{quota_us} of {period_us} µs of a processor, {gbit} Gbit/s, MTU {mtu}")
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
        "A limited server gets a fifth of a processor, so that the bandwidth depends on its time for a reply alone. The \
         source's server took half of one, and its client waited for other things, too.",
        "Between file, socket and client a reply is copied three times here, and once by the source's server: the copy \
         that is compared is a smaller part of its cost.",
        "One program without fio's layout phase; the source's counters include it.",
        "The source has one run each, and no intervals.",
    ]);
    if scale != Scale::Full {
        differences.push("Smaller files than the source's 16 000 MiB and 5000 MiB; --full has these.".to_owned());
    }
    differences
}
