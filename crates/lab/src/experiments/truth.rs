//! Servers whose READs take a known time: what the lab finds here shows how well this machine measures.
//!
//! Each server waits before it reads. The goals are the bounds within which a quiet machine finds these times.

use std::collections::BTreeMap;

use measure::record::{Bound, Design, Factor, Goal, Levels, Place, TableKind};

use super::{Conditions, Kind, Scale, named};
use crate::bench::{End, Job, Order, Workload};
use crate::bench_load::{self, OPERATIONS, P50};
use crate::contender::{Contender, Named};
use crate::engine::{Error, Experiment, Figures, Needs, PassError};
use crate::servers::Servers;

pub(super) const KIND: Kind =
    Kind { name: NAME, summary: "how well this machine measures: READs that take a known time", make };

const NAME: &str = "truth";
const SERVER: &str = "time of a READ";

const REFERENCE: &str = "10 ms";
const AGAIN: &str = "10 ms, again (A/A)";
const MORE_BY_3_PERCENT: &str = "10.3 ms";
const MORE_BY_1_MS: &str = "11 ms";
const FOUR_TIMES: &str = "40 ms";
const TWO_PEAKS: &str = "10 or 40 ms (two peaks)";

/// The servers with what they do in every READ; one with two peaks waits longer in three of ten.
const SERVERS: [(&str, &str); 6] = [
    (REFERENCE, "read:delay=10ms"),
    (AGAIN, "read:delay=10ms"),
    (MORE_BY_3_PERCENT, "read:delay=10300us"),
    (MORE_BY_1_MS, "read:delay=11ms"),
    (FOUR_TIMES, "read:delay=40ms"),
    (TWO_PEAKS, "read:delay=10ms,read:delay=30ms%0.3"),
];

/// The median that is right: never below the time itself, and at most this much above it, for sleep, wake-up and call.
const MEDIANS_US: [(&str, f64); 3] = [(REFERENCE, 10_000.0), (MORE_BY_1_MS, 11_000.0), (FOUR_TIMES, 40_000.0)];
const OVERHEAD_US: f64 = 500.0;
/// What is right for 3 % more.
const THREE_PERCENT: [Bound; 2] = [Bound::AtLeast(1.02), Bound::AtMost(1.04)];

const FILE: &str = "data";
const FILE_BYTES: u64 = 1 << 20;
const BLOCK_BYTES: u32 = 4 << 10;
/// Each has one READ outstanding.
const CONNECTIONS: u32 = 4;

struct Truth {
    servers: Servers,
    scale: Scale,
}

fn make(conditions: &Conditions) -> Result<Box<dyn Experiment>, Error> {
    let server = |(name, fault): (&str, &str)| Named {
        name: name.to_owned(),
        contender: Contender::Wharf(["--fault", fault].map(str::to_owned).to_vec()),
    };
    let servers = SERVERS.map(server).to_vec();
    let servers = Servers::new(&conditions.program, (&conditions.memory, space_bytes()), NAME, servers);
    Ok(Box::new(Truth { servers, scale: conditions.scale }))
}

fn space_bytes() -> u64 {
    FILE_BYTES + (16 << 20)
}

/// How many READs a pass has on all connections.
fn reads(scale: Scale) -> u32 {
    match scale {
        Scale::Quick => 24,
        Scale::Usual => 100,
        Scale::Full => 400,
    }
}

fn goals() -> Vec<Goal> {
    let goal = |server: &str, baseline: Option<&str>, bound| Goal {
        levels: Levels::from([(SERVER.to_owned(), server.to_owned())]),
        figure: P50.to_owned(),
        baseline: baseline.map(Into::into),
        bound,
    };
    let medians = MEDIANS_US.into_iter().flat_map(|(server, us)| {
        [Bound::AtLeast(us), Bound::AtMost(us + OVERHEAD_US)].map(|bound| goal(server, None, bound))
    });
    let ratios = THREE_PERCENT.map(|bound| goal(MORE_BY_3_PERCENT, Some(REFERENCE), bound));
    medians.chain(ratios).collect()
}

impl Experiment for Truth {
    fn design(&self) -> Design {
        let table = |title: &str, figure: &str| TableKind::new(title, figure, SERVER, REFERENCE);
        Design {
            name: NAME.to_owned(),
            question: "Does the lab find times that are known on this machine?".to_owned(),
            source: None,
            factors: vec![Factor::new(SERVER, named(SERVERS.map(|(name, _)| name)))],
            contenders: SERVER.to_owned(),
            control: Some(AGAIN.to_owned()),
            figures: bench_load::figure_kinds(),
            tables: vec![table("Median latency", P50), table("READs a second", OPERATIONS)],
            curves: Vec::new(),
            goals: goals(),
            differences: Vec::new(),
            skipped: Vec::new(),
        }
    }

    fn settings(&self) -> BTreeMap<String, String> {
        let mut settings = BTreeMap::from([("READs of a pass".to_owned(), reads(self.scale).to_string())]);
        settings.extend(SERVERS.map(|(name, fault)| (format!("server {name}"), format!("--fault {fault}"))));
        settings
    }

    fn needs(&self) -> Needs {
        // A READ takes 15 ms in the mean of all passes, most of which are the reference's.
        self.servers.needs(0.05 + f64::from(reads(self.scale) / CONNECTIONS) * 0.015)
    }

    fn refuses_servers(&self) -> Option<&'static str> {
        Some("the delays of its servers have to be known")
    }

    fn begin_round(&mut self, _seed: u64) -> Result<(), Error> {
        self.servers.restart_with_file(FILE, FILE_BYTES)
    }

    fn pass(&mut self, levels: &Levels, _place: &Place, seed: u64) -> Result<Figures, PassError> {
        let server = self.servers.get(&levels[SERVER])?;
        bench_load::measure(&Job {
            workload: Workload::reading(Order::Random),
            block_bytes: BLOCK_BYTES,
            file_bytes: FILE_BYTES,
            connections: CONNECTIONS,
            end: End::Bytes(u64::from(reads(self.scale) * BLOCK_BYTES)),
            seed,
            server_pid: server.pid(),
            ..bench_load::job(server.url(FILE))
        })
    }

    fn processes(&self) -> Vec<u32> {
        self.servers.pids()
    }
}
