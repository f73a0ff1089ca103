//! The experiment of the first source document: how replies to READ are built and sent, and what that costs.
//!
//! One server per [`Way`] runs in a process of its own, on the first processor; all of them serve the same file in memory. In each
//! round every load goes to each server right before or after the first one, the reference, in random order. One of them is the
//! reference again: a difference from that one is an error of the experiment. The loads come from this process, on the last
//! processor.

mod error;
mod way;

use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

use client::Options;
use rustix::thread::{CpuSet, sched_getaffinity, sched_setaffinity};

use crate::bench::{self, End, Job, Order, Workload};
use crate::data_file;
use crate::server::{EXPORT, Server};
use crate::turns::{Place, take_turns};

pub use error::Error;
pub use way::{Method, Way};

const FILE_NAME: &str = "data";

/// What to measure.
#[derive(Debug, Clone)]
pub struct Experiment {
    /// The program `wharf`, which is started as servers.
    pub program: PathBuf,
    /// An empty directory in memory, where the file is made.
    pub folder: PathBuf,
    /// The ways to send replies; the first is the one that the others are compared with.
    pub ways: Vec<Way>,
    /// The loads that each of them meets.
    pub loads: Vec<Load>,
    /// How often every load goes to every server.
    pub rounds: u32,
    /// What the order of servers and loads follows from.
    pub seed: u64,
    /// How long each time.
    pub runtime: Duration,
    /// How many connections there are.
    pub connections: u32,
    /// How many READs are outstanding on each.
    pub depth: u32,
    /// How long the file is, in bytes.
    pub file_bytes: u64,
}

/// READs of one size, in one order.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Load {
    /// The order.
    pub order: Order,
    /// The bytes of one READ.
    pub block_bytes: u32,
}

/// What one server did under one load in one round.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Sample {
    /// The load.
    pub load: Load,
    /// The way.
    pub way: Way,
    /// When it was measured.
    pub place: Place,
    /// READs in a second.
    pub operations_per_second: f64,
    /// Bytes in a second.
    pub bytes_per_second: f64,
    /// The median of the latencies, in microseconds.
    pub median_us: f64,
    /// 99 of a hundred latencies are below it, in microseconds.
    pub p99_us: f64,
    /// Processor time of the server for 10⁹ bytes, in seconds.
    pub server_s_per_gb: f64,
}

/// How long each load runs before anything is measured.
const WARM_UP: Duration = Duration::from_millis(100);

/// Does the experiment; `seen` hears of each sample as soon as it is there.
///
/// # Errors
/// When the file cannot be made, a server does not start, or a load fails.
pub fn run(experiment: &Experiment, mut seen: impl FnMut(&Sample)) -> Result<Vec<Sample>, Error> {
    let export = experiment.folder.join(EXPORT);
    make_file(&export, experiment.file_bytes)
        .map_err(|source| Error::File { path: experiment.folder.clone(), source })?;
    let ways = experiment.ways.iter().map(|way| (way.to_string(), way.arguments()));
    let servers = Server::start_all(&experiment.program, &experiment.folder, ways)?;
    // From here on: the threads of loads inherit it, the servers have been started already.
    stay_on_last_processor();
    let order = |number| measure::paired(experiment.seed, number, servers.len());
    take_turns((experiment.rounds, experiment.seed), &experiment.loads, order, |load, turn, place| {
        let sample = measure(experiment, load, (experiment.ways[turn], &servers[turn]), place)?;
        seen(&sample);
        Ok(sample)
    })
}

fn make_file(export: &Path, bytes: u64) -> io::Result<()> {
    std::fs::create_dir_all(export)?;
    data_file::make(&export.join(FILE_NAME), bytes)?;
    Ok(())
}

/// With one processor there is no choice, and without the right to choose the system does.
fn stay_on_last_processor() {
    let Ok(set) = sched_getaffinity(None) else { return };
    if let Some(last) = (0..CpuSet::MAX_CPU).rev().find(|&cpu| set.is_set(cpu)) {
        let mut only = CpuSet::new();
        only.set(last);
        let _ = sched_setaffinity(None, &only);
    }
}

fn measure(experiment: &Experiment, load: Load, (way, server): (Way, &Server), place: Place) -> Result<Sample, Error> {
    let job = Job {
        name: way.to_string(),
        options: Options { use_privileged_port: false, ..Options::default() },
        workload: Workload::reading(load.order),
        block_bytes: load.block_bytes,
        depth: experiment.depth,
        connections: experiment.connections,
        file_bytes: experiment.file_bytes,
        end: End::After(experiment.runtime),
        warm_up: WARM_UP,
        seed: experiment.seed.wrapping_add(place.round.into()),
        server_pid: Some(server.pid()),
        ..Job::new(server.url(&experiment.folder.join(EXPORT).join(FILE_NAME)))
    };
    let outcome = bench::run(&job)?;
    if let Some(error) = outcome.first_error {
        return Err(Error::Operation { way: way.to_string(), source: error });
    }
    let summary = outcome.summary;
    let reads = summary.directions.first().ok_or(Error::Nothing)?;
    let cpu = summary.server_cpu.unwrap_or_default().total.as_secs_f64();
    let quantile_us = |q| reads.latency_ns.quantile(q) as f64 / 1e3;
    Ok(Sample {
        load,
        way,
        place,
        operations_per_second: reads.work.operations_per_second(reads.runtime),
        bytes_per_second: reads.work.bytes_per_second(reads.runtime),
        median_us: quantile_us(0.5),
        p99_us: quantile_us(0.99),
        server_s_per_gb: cpu / (summary.work_in_runtime.bytes as f64 / 1e9),
    })
}
