//! Servers whose READs take a known time: what the lab finds here shows how well this machine measures.
//!
//! Each server waits before it reads. The goals are the bounds within which a quiet machine finds these times, and the
//! warnings that it must give. The ratios of the times stand beside those that are found.

use std::collections::BTreeMap;

use measure::record::{BeforeAfter, Bound, Design, DocumentRatio, Factor, Goal, Levels, PassPlace, TableKind};

use super::kind::{Conditions, Kind, Scale, named};
use crate::bench::{End, Job, Order, Workload};
use crate::bench_load::{self, OPERATIONS, P50, P99};
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
const DRIFTING: &str = "10 ms, then 2 ms more each round (drift)";

/// The servers with what they do in every READ, in the first round. One with two peaks waits longer in three of ten;
/// its seed has this share in each pass, even of 24 READs.
const SERVERS: [(&str, &str); 7] = [
    (REFERENCE, "read:delay=10ms"),
    (AGAIN, "read:delay=10ms"),
    (MORE_BY_3_PERCENT, "read:delay=10300us"),
    (MORE_BY_1_MS, "read:delay=11ms"),
    (FOUR_TIMES, "read:delay=40ms"),
    (TWO_PEAKS, "read:delay=10ms,read:delay=30ms%0.3,seed=304"),
    (DRIFTING, "read:delay=10ms"),
];

/// The delay of the server that drifts in the first round, and what is added from round to round.
const FIRST_MS: u32 = 10;
const DRIFT_MS: u32 = 2;

/// The median that is right: never below the time itself, and at most this much above it, for sleep, wake-up and call.
const MEDIANS_US: [(&str, f64); 5] = [
    (REFERENCE, 10_000.0),
    (MORE_BY_3_PERCENT, 10_300.0),
    (MORE_BY_1_MS, 11_000.0),
    (FOUR_TIMES, 40_000.0),
    (TWO_PEAKS, 10_000.0),
];
/// The slower of the two kinds of READs: the 99th percentile is never below.
const SECOND_PEAK_US: f64 = 40_000.0;
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
    /// The round whose delay the drifting server has; 0 before the first one.
    drift_round: u32,
}

fn make(conditions: &Conditions) -> Result<Box<dyn Experiment>, Error> {
    let server = |(name, fault): (&str, &str)| Named { name: name.to_owned(), contender: waiting(fault) };
    let servers = SERVERS.map(server).to_vec();
    let servers = Servers::new(&conditions.server_program, &conditions.memory, space_bytes(), NAME, servers);
    Ok(Box::new(Truth { servers, scale: conditions.scale, drift_round: 0 }))
}

fn waiting(fault: &str) -> Contender {
    Contender::Wharf(["--fault", fault].map(str::to_owned).to_vec())
}

/// What the server that drifts is in a round, counted from 1.
fn drifting(round: u32) -> Contender {
    waiting(&format!("read:delay={}ms", FIRST_MS + DRIFT_MS * round.saturating_sub(1)))
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
    let goal = |server: &str, figure: &str, bound| Goal {
        levels: levels(server),
        figure: figure.to_owned(),
        baseline: None,
        bound,
    };
    let medians = MEDIANS_US.into_iter().flat_map(|(server, us)| {
        [Bound::AtLeast(us), Bound::AtMost(us + OVERHEAD_US)].map(|bound| goal(server, P50, bound))
    });
    let to_reference = |goal| Goal { baseline: Some(REFERENCE.into()), ..goal };
    let ratios = THREE_PERCENT.map(|bound| to_reference(goal(MORE_BY_3_PERCENT, P50, bound)));
    let others = [
        goal(TWO_PEAKS, P99, Bound::AtLeast(SECOND_PEAK_US)),
        goal(TWO_PEAKS, P50, Bound::HasPeaks),
        goal(DRIFTING, P50, Bound::Drifts),
    ];
    medians.chain(ratios).chain(others).collect()
}

fn levels(server: &str) -> Levels {
    Levels::from([(SERVER.to_owned(), server.to_owned())])
}

/// The ratios of the times themselves.
fn true_ratios() -> Vec<DocumentRatio> {
    let (_, reference) = MEDIANS_US[0];
    let ratio = |(server, us): (&str, f64)| {
        DocumentRatio::of_figures(levels(server), BeforeAfter { before: reference, after: us })
    };
    MEDIANS_US[1..].iter().copied().map(ratio).collect()
}

impl Experiment for Truth {
    fn design(&self) -> Design {
        let table = |title: &str, figure: &str| TableKind::new(title, figure, SERVER, REFERENCE);
        Design {
            name: NAME.to_owned(),
            question: "Does the lab find times that are known on this machine?".to_owned(),
            source: Some("the servers' delays".to_owned()),
            factors: vec![Factor::new(SERVER, named(SERVERS.map(|(name, _)| name)))],
            contenders: SERVER.to_owned(),
            control: Some(AGAIN.to_owned()),
            figures: bench_load::figure_kinds(),
            tables: vec![
                TableKind { document: true_ratios(), ..table("Median latency", P50) },
                table("READs a second", OPERATIONS),
            ],
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

    fn refuses_builds(&self) -> Option<&'static str> {
        Some("it measures the machine")
    }

    fn begin_round(&mut self, _seed: u64) -> Result<(), Error> {
        self.servers.restart_with_file(FILE, FILE_BYTES)
    }

    fn pass(&mut self, levels: &Levels, place: &PassPlace, seed: u64) -> Result<Figures, PassError> {
        if levels[SERVER] == DRIFTING && self.drift_round != place.round {
            self.servers.replace(DRIFTING, &drifting(place.round))?;
            self.drift_round = place.round;
        }
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
