//! A mix of operations at rising rates, up to what the server can do at most, like LADDIS and SPECsfs.
//!
//! The loop is open: operations begin when they are due, at random moments, and their latency counts from then. What
//! the rates are shares of is the most that the reference does in a closed loop, measured again for each round.

use std::collections::BTreeMap;
use std::time::Duration;

use measure::record::{Better, CurveKind, Design, Factor, FigureKind, Levels, Machine, PassPlace, TableKind};

use super::contenders::{describe_programs, wharf_twice};
use super::kind::{Conditions, Kind, Scale, named};
use crate::bench::{End, Job, Rate, Spacing, Workload};
use crate::bench_load::{self, OPERATIONS, P50, P99, SERVER_COST};
use crate::contender::{Named, Server};
use crate::engine::{Error, Experiment, Figures, Needs, PassError};
use crate::servers::Servers;

pub(super) const KIND: Kind = Kind {
    name: NAME,
    summary: "how long a mix of operations takes at rising rates, up to what a server can do at most",
    make,
};

const NAME: &str = "mix";
const LOAD: &str = "load";
const SERVER: &str = "server";
const OFFERED: &str = "offered";

/// The rates, as shares of the most that the reference does in a closed loop.
const LOADS: [(&str, f64); 10] = [
    ("10 %", 0.1),
    ("20 %", 0.2),
    ("30 %", 0.3),
    ("40 %", 0.4),
    ("50 %", 0.5),
    ("60 %", 0.6),
    ("70 %", 0.7),
    ("80 %", 0.8),
    ("90 %", 0.9),
    ("100 %", 1.0),
];

/// The directory that is listed and in which files are made, and the file in it that is read and written.
const DIRECTORY: &str = "mix";
const FILE: &str = "mix/data";
const NAMES: u32 = 30;
const FILE_BYTES: u64 = 32 << 20;
const BLOCK_BYTES: u32 = 8 << 10;
const CONNECTIONS: u32 = 4;
/// How many operations of a connection wait for replies while the most is measured.
const CLOSED_DEPTH: u32 = 16;
/// And how many may in the open loop.
const OPEN_DEPTH: u32 = 64;

struct Mix {
    contenders: Vec<Named>,
    servers: Servers,
    scale: Scale,
    /// The most that the reference does, in operations a second.
    most: f64,
}

fn make(conditions: &Conditions) -> Result<Box<dyn Experiment>, Error> {
    let contenders = [wharf_twice(), conditions.servers.clone()].concat();
    let servers = Servers::new(&conditions.server_program, &conditions.memory, space_bytes(), NAME, contenders.clone());
    Ok(Box::new(Mix { contenders, servers, scale: conditions.scale, most: 0.0 }))
}

fn space_bytes() -> u64 {
    FILE_BYTES + (16 << 20)
}

fn runtime(scale: Scale) -> Duration {
    Duration::from_millis(match scale {
        Scale::Quick => 100,
        Scale::Usual => 2000,
        Scale::Full => 10_000,
    })
}

impl Mix {
    /// The mix on a server, in a closed loop.
    fn job(&self, server: &Server, seed: u64) -> Job {
        let runtime = runtime(self.scale);
        Job {
            workload: Workload::MIX,
            block_bytes: BLOCK_BYTES,
            file_bytes: FILE_BYTES,
            connections: CONNECTIONS,
            depth: CLOSED_DEPTH,
            end: End::After(runtime),
            warm_up: runtime / 4,
            seed,
            server_pid: server.pid(),
            ..bench_load::job(server.url(FILE))
        }
    }
}

impl Experiment for Mix {
    fn design(&self) -> Design {
        let table = |title: &str, figure: &str| TableKind::new(title, figure, SERVER, &self.contenders[0].name);
        let curve = |title: &str, figure: &str| CurveKind {
            title: title.to_owned(),
            factor: LOAD.to_owned(),
            x: OPERATIONS.to_owned(),
            y: figure.to_owned(),
        };
        let offered = FigureKind::new(OFFERED, "1/s", Better::Neither);
        Design {
            name: NAME.to_owned(),
            question: "How long does a mix of operations take as more and more of them are asked for?".to_owned(),
            source: None,
            factors: vec![
                Factor::new(LOAD, named(LOADS.map(|(name, _)| name))),
                Factor::new(SERVER, self.contenders.iter().map(|server| server.name.clone()).collect()),
            ],
            contenders: SERVER.to_owned(),
            control: Some(self.contenders[1].name.clone()),
            figures: bench_load::figure_kinds().into_iter().chain([offered]).collect(),
            tables: vec![
                table("Median latency", P50),
                table("Latency of 99 %", P99),
                table("Operations a second", OPERATIONS),
                table("Processor time of the server for an operation", SERVER_COST),
            ],
            goals: Vec::new(),
            curves: vec![
                curve("Median latency against throughput", P50),
                curve("Mean latency against throughput", "mean latency"),
                curve("Latency of 99 % against throughput", P99),
            ],
            differences: Vec::new(),
            skipped: named(["READLINK, SETATTR, FSSTAT and COMMIT within the mix: others have their share"]),
        }
    }

    fn settings(&self) -> BTreeMap<String, String> {
        let mut settings = BTreeMap::from([
            ("file".to_owned(), format!("{} MiB, in a directory of {NAMES} names", FILE_BYTES >> 20)),
            ("READ and WRITE".to_owned(), format!("{} KiB", BLOCK_BYTES >> 10)),
            ("connections".to_owned(), CONNECTIONS.to_string()),
            ("arrivals".to_owned(), "Poisson".to_owned()),
            ("most outstanding operations".to_owned(), (CONNECTIONS * OPEN_DEPTH).to_string()),
            ("time of a pass".to_owned(), format!("{} ms", runtime(self.scale).as_millis())),
            ("version".to_owned(), "3, unless the URL of a server says another".to_owned()),
        ]);
        settings.extend(self.contenders.iter().map(|one| (format!("server {}", one.name), one.contender.to_string())));
        settings
    }

    fn needs(&self) -> Needs {
        self.servers.needs(runtime(self.scale).as_secs_f64() * 1.25 + 0.06)
    }

    fn refuses_servers(&self) -> Option<&'static str> {
        None
    }

    fn reference_rate(&self) -> Option<f64> {
        Some(self.most)
    }

    fn set_reference_rate(&mut self, rate: f64) {
        self.most = rate;
    }

    fn describe(&self, machine: &mut Machine) {
        describe_programs(&self.contenders, machine);
    }

    fn begin_round(&mut self, seed: u64) -> Result<(), Error> {
        self.servers.restart()?;
        self.servers.make_directory(DIRECTORY, NAMES)?;
        let reference = self.servers.all().first();
        let found = reference.map(|server| bench_load::measure(&self.job(server, seed)));
        let found = found.transpose().map_err(|PassError(reason)| Error::AllFailed { reason })?;
        self.most = found.and_then(|found| found.values.get(OPERATIONS).copied()).unwrap_or_default();
        Ok(())
    }

    fn pass(&mut self, levels: &Levels, _place: &PassPlace, seed: u64) -> Result<Figures, PassError> {
        let server = self.servers.get(&levels[SERVER])?;
        let share = LOADS.iter().find(|(name, _)| *name == levels[LOAD]).map_or(1.0, |(_, share)| *share);
        let rate = Rate { per_second: (self.most * share).max(1.0), spacing: Spacing::Poisson };
        let job = Job { rate: Some(rate), depth: OPEN_DEPTH, ..self.job(server, seed) };
        let mut figures = bench_load::measure(&job)?;
        figures.set(OFFERED, rate.per_second);
        Ok(figures)
    }

    fn processes(&self) -> Vec<u32> {
        self.servers.pids()
    }
}
