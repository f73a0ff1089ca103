//! Streams between sockets of two kernels.

use std::io::Write;
use std::net::SocketAddr;
use std::time::Duration;

use measure::Level;
use report::{Column, Table, units};
use segments::kernel::{Direction, Kind, Test, TestResult};
use serde::Serialize;

use super::Flags;
use crate::failure::Failure;
use crate::output::Output;
use crate::tcp::both_ends::{self, EndRecord};
use crate::tcp::ends;
use crate::tcp::series::{self, EstimateRecord, Figure};
use crate::tcp::watch::Interrupted;

/// The default time of a stream.
const DEFAULT_TIME: Duration = Duration::from_secs(10);

/// Runs of the same test with the same pair of buffers.
type Series = series::Series<(Test, Option<(usize, u64)>), TestResult>;

/// Bits per second to the other end and from it, and processor time of the program at both ends in µs per KiB.
const FIGURES: [Figure<TestResult>; 4] = [TestResult::bits_out, TestResult::bits_in, local_demand, remote_demand];

fn local_demand(outcome: &TestResult) -> f64 {
    both_ends::us_per_kib(outcome.local.process_time, outcome)
}

fn remote_demand(outcome: &TestResult) -> f64 {
    both_ends::us_per_kib(outcome.remote.process_time, outcome)
}

/// Runs the streams one after the other. Ctrl-C ends the current run and shows all results.
pub fn run(flags: &Flags, host: &str) -> Result<(), Failure> {
    let address = ends::resolve(host)?;
    let mut interrupted = Interrupted::listen()?;
    let mut done = Vec::new();
    let mut ended = Ok(());
    for buffers in flags.buffer_pairs() {
        let mut all = [Series::new((flags.test(buffers), buffers), &flags.deciding())];
        ended = series::repeat(&flags.repeat.repeats(), &mut all, |(test, _)| {
            both_ends::one("stream", address, test, &mut interrupted)
        });
        done.extend(all.into_iter().filter(|series| !series.outcomes.is_empty()));
        if ended.is_err() || interrupted.look() {
            break;
        }
    }
    if !done.is_empty() {
        show(flags, address, &done)?;
    }
    ended.and_then(|()| interrupted.end())
}

impl Flags {
    fn direction(&self) -> Direction {
        match (self.between.reverse, self.between.both) {
            (true, _) => Direction::In,
            (_, true) => Direction::Both,
            _ => Direction::Out,
        }
    }

    fn test(&self, buffers: Option<(usize, u64)>) -> Test {
        Test {
            kind: Kind::Stream {
                direction: self.direction(),
                message_bytes: self.between.message,
                read_bytes: self.read_size,
            },
            connections: self.between.connections,
            total: self.bytes,
            duration: self.time.or_else(|| self.bytes.is_none().then_some(DEFAULT_TIME)),
            send_buffer_bytes: buffers.map(|(send, _)| send).or(self.send_buffer),
            receive_buffer_bytes: buffers.map(|(_, receive)| receive as usize).or(self.receive_buffer),
        }
    }

    /// Returns the figures that must be precise enough: the throughputs there are, and processor time.
    fn deciding(&self) -> Vec<Figure<TestResult>> {
        let [out, back, local, remote] = FIGURES;
        match self.direction() {
            Direction::Out => vec![out, local, remote],
            Direction::In => vec![back, local, remote],
            Direction::Both => vec![out, back, local, remote],
        }
    }
}

/// What `--json` shows of a series.
#[derive(Debug, Serialize)]
struct SeriesRecord {
    host: String,
    connections: usize,
    send_buffer_bytes: Option<usize>,
    receive_buffer_bytes: Option<usize>,
    bits_per_second_out: EstimateRecord,
    bits_per_second_in: EstimateRecord,
    local_us_per_kib: EstimateRecord,
    remote_us_per_kib: EstimateRecord,
    runs: Vec<RunRecord>,
}

/// One run.
#[derive(Debug, Serialize)]
struct RunRecord {
    bits_per_second_out: f64,
    bits_per_second_in: f64,
    is_same_machine: bool,
    local: EndRecord,
    remote: EndRecord,
}

impl SeriesRecord {
    fn new(address: SocketAddr, series: &Series, level: Level) -> SeriesRecord {
        let estimates = FIGURES.map(|figure| EstimateRecord::new(series, figure, level));
        let [bits_per_second_out, bits_per_second_in, local_us_per_kib, remote_us_per_kib] = estimates;
        let (test, _) = &series.case;
        SeriesRecord {
            host: address.to_string(),
            connections: test.connections,
            send_buffer_bytes: test.send_buffer_bytes,
            receive_buffer_bytes: test.receive_buffer_bytes,
            bits_per_second_out,
            bits_per_second_in,
            local_us_per_kib,
            remote_us_per_kib,
            runs: series.outcomes.iter().map(RunRecord::new).collect(),
        }
    }
}

impl RunRecord {
    fn new(outcome: &TestResult) -> RunRecord {
        RunRecord {
            bits_per_second_out: outcome.bits_out(),
            bits_per_second_in: outcome.bits_in(),
            is_same_machine: outcome.is_same_machine,
            local: EndRecord::new(&outcome.local, outcome),
            remote: EndRecord::new(&outcome.remote, outcome),
        }
    }
}

fn show(flags: &Flags, address: SocketAddr, all: &[Series]) -> Result<(), Failure> {
    let repeats = flags.repeat.repeats();
    let mut output = Output::new();
    if flags.json {
        let records: Vec<_> =
            all.iter().map(|series| SeriesRecord::new(address, series, flags.repeat.level())).collect();
        output.json(&records)?;
        return Ok(output.finish()?);
    }
    write!(output, "{}", table(flags, all).to_text())?;
    let notes = [both_ends::note(all.iter().flat_map(|series| &series.outcomes)), series::unsure(&repeats, all)];
    for note in notes.into_iter().flatten() {
        writeln!(output, "{note}")?;
    }
    Ok(output.finish()?)
}

fn table(flags: &Flags, all: &[Series]) -> Table {
    let direction = flags.direction();
    let speeds = [("Mbit/s out", Direction::In, FIGURES[0]), ("Mbit/s in", Direction::Out, FIGURES[1])];
    let speeds: Vec<_> = speeds.into_iter().filter(|(_, without, _)| *without != direction).collect();
    let buffers = ["send buffer", "receive buffer"].into_iter().filter(|_| flags.buffers);
    let names = buffers.chain(["runs", "sent"]).chain(speeds.iter().map(|(name, ..)| *name));
    let demands = ["local µs/KiB", "remote µs/KiB"];
    let mut table = Table::new(names.chain(demands).chain(both_ends::HEADS).map(Column::number));
    let level = flags.repeat.level();
    for series in all {
        let buffers = series.case.1.into_iter().flat_map(|(send, receive)| [send.to_string(), receive.to_string()]);
        let bytes: u64 = series.outcomes.iter().map(TestResult::bytes).sum();
        let mut cells: Vec<String> = buffers.collect();
        cells.extend([series.outcomes.len().to_string(), units::binary_bytes(bytes as f64)]);
        cells.extend(speeds.iter().map(|(.., figure)| series::shown(series, *figure, level, 1e-6, 0)));
        cells.extend(FIGURES[2..].iter().map(|figure| series::shown(series, *figure, level, 1.0, 3)));
        cells.extend(both_ends::cells(&series.outcomes));
        table.push(cells);
    }
    table
}
