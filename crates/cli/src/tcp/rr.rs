//! `wharf tcp rr`: requests and responses between two kernels.

use std::io::Write;
use std::net::SocketAddr;
use std::time::Duration;

use clap::Args;
use measure::{Histogram, Level};
use report::{Column, Table};
use segments::kernel::{End, Kind, Test, TestResult};
use serde::Serialize;

use super::both_ends::{self, EndRecord};
use super::ends;
use super::series::{self, EstimateRecord, Figure, RepeatFlags};
use super::stream::{connections, parse_memory, parse_time};
use super::watch::Interrupted;
use crate::failure::Failure;
use crate::output::Output;

/// Measure request/response latency and rate to another host, like netperf's TCP_RR.
///
/// `wharf tcp listen` must run at HOST. Each connection has one request in flight.
#[derive(Debug, Args)]
pub struct Flags {
    /// Host that runs wharf tcp listen. [default port: 5210]
    #[arg(value_name = "HOST[:PORT]")]
    host: String,
    /// Sizes of requests and responses, up to 1 MiB each.
    #[arg(short = 'r', long, value_name = "REQUEST,RESPONSE", value_parser = parse_sizes, default_value = "1,1")]
    sizes: (usize, usize),
    /// Number of connections, each with one request in flight.
    #[arg(short = 'P', long, value_name = "NUMBER", default_value_t = 1, value_parser = connections())]
    connections: usize,
    /// Maximum number of requests, over all connections. [default: unlimited]
    #[arg(short = 'n', long, value_name = "NUMBER", value_parser = clap::value_parser!(u64).range(1..))]
    requests: Option<u64>,
    /// Maximum time per run. [default: 10s, unless --requests is given]
    #[arg(long, value_name = "TIME", value_parser = parse_time)]
    time: Option<Duration>,
    /// Send buffer of the sockets at both ends (SO_SNDBUF). [default: the kernel's]
    #[arg(long, value_name = "SIZE", value_parser = parse_memory)]
    send_buffer: Option<usize>,
    /// Receive buffer of the sockets at both ends (SO_RCVBUF). [default: the kernel's]
    #[arg(long, value_name = "SIZE", value_parser = parse_memory)]
    receive_buffer: Option<usize>,
    #[command(flatten)]
    repeat: RepeatFlags,
    /// Print JSON.
    #[arg(long)]
    json: bool,
}

/// The default time of a run.
const DEFAULT_TIME: Duration = Duration::from_secs(10);

/// Runs of the same test.
type Series = series::Series<Test, TestResult>;

/// Transactions per second, and processor time of the program at both ends in µs per transaction.
const FIGURES: [Figure<TestResult>; 3] = [
    TestResult::transactions_per_second,
    |outcome| us_per_transaction(&outcome.local, outcome),
    |outcome| us_per_transaction(&outcome.remote, outcome),
];

/// The quantiles of the latencies that are shown.
const QUANTILES: [(&str, f64); 4] = [("p50", 0.5), ("p90", 0.9), ("p99", 0.99), ("p99.9", 0.999)];

fn us_per_transaction(end: &End, outcome: &TestResult) -> f64 {
    end.process_time.as_secs_f64() * 1e6 / (outcome.local.transactions as f64).max(f64::MIN_POSITIVE)
}

/// Runs the tests one after the other. Ctrl-C ends the current run and shows all results.
pub fn run(flags: &Flags) -> Result<(), Failure> {
    let address = ends::resolve(&flags.host)?;
    let mut interrupted = Interrupted::listen()?;
    let mut all = [Series::new(flags.test(), &FIGURES)];
    let ended = series::repeat(&flags.repeat.repeats(), &mut all, |test| {
        both_ends::one("requests", address, test, &mut interrupted)
    });
    if !all[0].outcomes.is_empty() {
        show(flags, address, &all[0])?;
    }
    ended.and_then(|()| interrupted.end())
}

impl Flags {
    fn test(&self) -> Test {
        let (request_bytes, response_bytes) = self.sizes;
        Test {
            kind: Kind::Requests { request_bytes, response_bytes },
            connections: self.connections,
            total: self.requests,
            duration: self.time.or_else(|| self.requests.is_none().then_some(DEFAULT_TIME)),
            send_buffer_bytes: self.send_buffer,
            receive_buffer_bytes: self.receive_buffer,
        }
    }
}

/// What `--json` shows.
#[derive(Debug, Serialize)]
struct Record {
    host: String,
    connections: usize,
    request_bytes: usize,
    response_bytes: usize,
    transactions_per_second: EstimateRecord,
    local_us_per_transaction: EstimateRecord,
    remote_us_per_transaction: EstimateRecord,
    runs: Vec<RunRecord>,
}

/// One run.
#[derive(Debug, Serialize)]
struct RunRecord {
    transactions: u64,
    transactions_per_second: f64,
    latency_ns: LatencyRecord,
    is_same_machine: bool,
    local: EndRecord,
    remote: EndRecord,
}

/// How long requests took.
#[derive(Debug, Serialize)]
struct LatencyRecord {
    min: u64,
    mean: f64,
    p50: u64,
    p90: u64,
    p99: u64,
    p999: u64,
    max: u64,
}

impl Record {
    fn new(flags: &Flags, address: SocketAddr, series: &Series, level: Level) -> Record {
        let [transactions_per_second, local_us_per_transaction, remote_us_per_transaction] =
            FIGURES.map(|figure| EstimateRecord::new(series, figure, level));
        Record {
            host: address.to_string(),
            connections: flags.connections,
            request_bytes: flags.sizes.0,
            response_bytes: flags.sizes.1,
            transactions_per_second,
            local_us_per_transaction,
            remote_us_per_transaction,
            runs: series.outcomes.iter().map(RunRecord::new).collect(),
        }
    }
}

impl RunRecord {
    fn new(outcome: &TestResult) -> RunRecord {
        RunRecord {
            transactions: outcome.local.transactions,
            transactions_per_second: outcome.transactions_per_second(),
            latency_ns: LatencyRecord::new(&outcome.latencies),
            is_same_machine: outcome.is_same_machine,
            local: EndRecord::new(&outcome.local, outcome),
            remote: EndRecord::new(&outcome.remote, outcome),
        }
    }
}

impl LatencyRecord {
    fn new(latencies: &Histogram) -> LatencyRecord {
        let [p50, p90, p99, p999] = QUANTILES.map(|(_, quantile)| latencies.quantile(quantile));
        LatencyRecord { min: latencies.min(), mean: latencies.mean(), p50, p90, p99, p999, max: latencies.max() }
    }
}

fn show(flags: &Flags, address: SocketAddr, series: &Series) -> Result<(), Failure> {
    let repeats = flags.repeat.repeats();
    let mut output = Output::new();
    if flags.json {
        output.json(&Record::new(flags, address, series, flags.repeat.level()))?;
        return Ok(output.finish()?);
    }
    write!(output, "{}", table(series, flags.repeat.level()).to_text())?;
    let notes = [both_ends::note(series.outcomes.iter()), series::unsure(&repeats, std::slice::from_ref(series))];
    for note in notes.into_iter().flatten() {
        writeln!(output, "{note}")?;
    }
    Ok(output.finish()?)
}

fn table(series: &Series, level: Level) -> Table {
    let heads = ["runs", "transactions", "per second", "local µs each", "remote µs each", "mean µs"];
    let heads = heads.into_iter().chain(QUANTILES.map(|(name, _)| name)).chain(["max", "local CPU", "remote CPU"]);
    let mut table = Table::new(heads.chain(["resent"]).map(Column::number));
    let transactions: u64 = series.outcomes.iter().map(|outcome| outcome.local.transactions).sum();
    let mut latencies = Histogram::new();
    series.outcomes.iter().for_each(|outcome| latencies.merge(&outcome.latencies));
    let us = |ns: f64| format!("{:.1}", ns / 1000.0);
    let [rate, local, remote] = FIGURES;
    let mut cells = vec![series.outcomes.len().to_string(), transactions.to_string()];
    cells.push(series::shown(series, rate, level, 1.0, 0));
    cells.extend([local, remote].map(|figure| series::shown(series, figure, level, 1.0, 2)));
    cells.push(us(latencies.mean()));
    cells.extend(QUANTILES.map(|(_, quantile)| us(latencies.quantile(quantile) as f64)));
    cells.push(us(latencies.max() as f64));
    let [local, _, remote, _, resent] = both_ends::cells(&series.outcomes);
    cells.extend([local, remote, resent]);
    table.push(cells);
    table
}

fn parse_sizes(text: &str) -> Result<(usize, usize), String> {
    let (request, response) = text.split_once(',').ok_or("two sizes are needed, such as 64,8K")?;
    Ok((parse_memory(request)?, parse_memory(response)?))
}
