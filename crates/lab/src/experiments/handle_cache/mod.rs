//! The experiment of the second source: what it saves a server to keep open files by their handles.
//!
//! So many processes read a file of their own each, in order, with READs of one size and one at a time. The same is
//! done with an export whose opens are slow.

mod document;
mod factors;

use std::collections::BTreeMap;
use std::time::Duration;

use client::Options;
use measure::record::{Better, Design, Factor, FigureKind, JobSummary, Levels, PassPlace, TableKind};

use self::factors::{AGAIN, CACHE, OFF, ON, OPENS, PLAIN, PROCESSES, SIZE, SLOW};
use super::kind::{Conditions, Kind, Scale, named};
use crate::bench::{self, End, Files, Job, Order, Workload};
use crate::contender::{Contender, Named};
use crate::engine::{Error, Experiment, Figures, Needs, PassError};
use crate::processors::{self, Processor};
use crate::servers::Servers;

pub(super) const KIND: Kind = Kind {
    name: NAME,
    summary: "what a cache of open files saves a server, by processes and size of reads (source 001)",
    make,
};

const NAME: &str = "handle-cache";

const BANDWIDTH: &str = "bandwidth";
const SERVER_COST: &str = "server cost";

/// The file of each process has its number behind this and a dot.
const FILE: &str = "file";
const FILE_BYTES: u64 = 1 << 20;
/// How long each slow open takes.
const OPEN_DELAY: Duration = Duration::from_micros(200);

struct HandleCache {
    servers: Servers,
    scale: Scale,
}

fn make(conditions: &Conditions) -> Result<Box<dyn Experiment>, Error> {
    let scale = conditions.scale;
    let each = [PLAIN, SLOW].into_iter().flat_map(|opens| [OFF, AGAIN, ON].map(|cache| server(cache, opens)));
    let servers =
        Servers::new(&conditions.server_program, &conditions.memory, space_bytes(scale), NAME, each.collect());
    Ok(Box::new(HandleCache { servers, scale }))
}

fn server(cache: &str, opens: &str) -> Named {
    let mut arguments = Vec::new();
    if cache != ON {
        arguments.extend(["--open-files".to_owned(), "0".to_owned()]);
    }
    if opens == SLOW {
        arguments.extend(["--fault".to_owned(), format!("open:delay={}us", OPEN_DELAY.as_micros())]);
    }
    Named { name: server_name(cache, opens), contender: Contender::Wharf(arguments) }
}

fn server_name(cache: &str, opens: &str) -> String {
    format!("cache {cache}, {opens} opens")
}

fn processes(scale: Scale) -> Vec<u32> {
    match scale {
        Scale::Quick => vec![4, 64],
        Scale::Usual => vec![4, 16, 64, 256],
        Scale::Full => document::processes().collect(),
    }
}

fn sizes(scale: Scale) -> Vec<u32> {
    match scale {
        Scale::Quick => vec![256, 131_072],
        Scale::Usual => vec![256, 4096, 32_768, 131_072],
        Scale::Full => document::SIZES.to_vec(),
    }
}

/// How long a pass measures.
fn runtime(scale: Scale) -> Duration {
    Duration::from_millis(match scale {
        Scale::Quick => 100,
        Scale::Usual => 500,
        Scale::Full => 2000,
    })
}

fn space_bytes(scale: Scale) -> u64 {
    (u64::from(processes(scale).into_iter().max().unwrap_or(0)) + 16) * FILE_BYTES
}

impl Experiment for HandleCache {
    fn design(&self) -> Design {
        let numbers = |numbers: Vec<u32>| numbers.iter().map(u32::to_string).collect::<Vec<String>>();
        let table =
            |title: &str, figure: &str, document| TableKind { document, ..TableKind::new(title, figure, CACHE, OFF) };
        let (all_processes, all_sizes) = (processes(self.scale), sizes(self.scale));
        let document = document::ratios(|count, size| all_processes.contains(&count) && all_sizes.contains(&size));
        Design {
            name: NAME.to_owned(),
            question: "How much faster do processes that read different files get when the server keeps them open?"
                .to_owned(),
            source: Some("Linux NFS server, RFC patch for a cache of file handles, December 2008".to_owned()),
            factors: vec![
                Factor::new(OPENS, named([PLAIN, SLOW])),
                Factor::new(PROCESSES, numbers(all_processes)),
                Factor::new(SIZE, numbers(all_sizes)),
                Factor::new(CACHE, named([OFF, AGAIN, ON])),
            ],
            contenders: CACHE.to_owned(),
            control: Some(AGAIN.to_owned()),
            figures: vec![
                FigureKind::new(BANDWIDTH, "KB/s", Better::Higher),
                FigureKind::new("operations", "1/s", Better::Higher),
                FigureKind::new("p50", "µs", Better::Lower),
                FigureKind::new("p99", "µs", Better::Lower),
                FigureKind::new(SERVER_COST, "µs/READ", Better::Lower),
            ],
            tables: vec![
                table("Bandwidth of all processes", BANDWIDTH, document),
                table("Processor time of the server for a READ", SERVER_COST, Vec::new()),
            ],
            curves: Vec::new(),
            goals: Vec::new(),
            differences: named([
                "Loopback on one machine and files in memory; the source's network was the limit of its bandwidth.",
                "The server has one event loop for all processes; the source had as many threads as processes.",
                "Each READ has the size of the process's read; the source's client may have read ahead.",
                "The processes are connections of one program.",
            ]),
            skipped: Vec::new(),
        }
    }

    fn settings(&self) -> BTreeMap<String, String> {
        BTreeMap::from([
            ("file of each process".to_owned(), format!("{} MiB", FILE_BYTES >> 20)),
            ("slow open".to_owned(), format!("{} µs", OPEN_DELAY.as_micros())),
            ("time of a pass".to_owned(), format!("{} ms", runtime(self.scale).as_millis())),
            ("version".to_owned(), "3".to_owned()),
        ])
    }

    fn needs(&self) -> Needs {
        self.servers.needs(runtime(self.scale).as_secs_f64() * 1.25 + 0.1)
    }

    fn refuses_servers(&self) -> Option<&'static str> {
        Some("it compares Wharf with and without its cache of open files")
    }

    fn begin_round(&mut self, _seed: u64) -> Result<(), Error> {
        for number in 0..processes(self.scale).into_iter().max().unwrap_or(0) {
            self.servers.make_file_once(&format!("{FILE}.{number}"), FILE_BYTES)?;
        }
        self.servers.restart()
    }

    fn pass(&mut self, levels: &Levels, _place: &PassPlace, seed: u64) -> Result<Figures, PassError> {
        let server = self.servers.get(&server_name(&levels[CACHE], &levels[OPENS]))?;
        let runtime = runtime(self.scale);
        let job = Job {
            name: NAME.to_owned(),
            options: Options { use_privileged_port: false, ..Options::default() },
            workload: Workload::reading(Order::Sequential),
            block_bytes: levels[SIZE].parse()?,
            connections: levels[PROCESSES].parse()?,
            files: Files::OnePerConnection,
            file_bytes: FILE_BYTES,
            end: End::After(runtime),
            warm_up: runtime / 4,
            seed,
            server_pid: server.pid(),
            ..Job::new(server.url(FILE))
        };
        let outcome = processors::on(Processor::Last, || bench::run(&job))?;
        if let Some(error) = outcome.first_error {
            return Err(error.into());
        }
        figures(&outcome.summary)
    }

    fn processes(&self) -> Vec<u32> {
        self.servers.pids()
    }
}

fn figures(summary: &JobSummary) -> Result<Figures, PassError> {
    let reads = summary.directions.first().ok_or(OperationsMissing)?;
    let quantile_us = |q| reads.latency_ns.quantile(q) as f64 / 1e3;
    let mut figures = Figures::default();
    figures.set(BANDWIDTH, reads.work.bytes_per_second(reads.runtime) / 1024.0);
    figures.set("operations", reads.work.operations_per_second(reads.runtime));
    figures.set("p50", quantile_us(0.5));
    figures.set("p99", quantile_us(0.99));
    if let Some(cost) = summary.server_cpu.and_then(|cpu| cpu.ns_per_operation(summary.work_in_runtime.operations)) {
        figures.set(SERVER_COST, cost / 1e3);
    }
    figures.set_latency(&reads.latency_ns);
    Ok(figures)
}

/// The time was over before anything was read.
#[derive(Debug, thiserror::Error)]
#[error("no READ ended in time")]
struct OperationsMissing;
