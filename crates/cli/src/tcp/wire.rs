//! `wharf tcp wire`: the cutting rules and the kernel's own sender on a wire of limited speed.

use std::io::Write;
use std::time::Duration;

use clap::Args;
use measure::{Comparison, Level};
use report::{Column, Table, units};
use segments::kernel::{Control as KernelControl, Direction, Kind, Test};
use segments::link::{self, LinkOptions};
use segments::sender::Config;
use segments::trace::Tally;
use segments::user::{self, Control, Options};
use segments::{Card, Rule};
use serde::Serialize;

use super::both_ends;
use super::series::{self, EstimateRecord, Figure, RepeatFlags};
use super::stream::{parse_memory, parse_time};
use super::watch::{Interrupted, Watched};
use crate::failure::{Failure, TcpError};
use crate::output::Output;

/// Compare the cutting rules and the kernel's sender on a wire of a given speed, with and without offload.
///
/// The wire connects two temporary network namespaces, and counts 24 bytes of Ethernet for each frame. The senders run
/// in random order, and those of a round are compared. Requires root (or unshare -rn), ip and tc. See docs/segments.md.
#[derive(Debug, Args)]
pub struct Flags {
    /// Speed of the wire in bits per second, such as 1G or 100M.
    #[arg(long, value_name = "SPEED", value_parser = parse_speed, default_value = "1G")]
    rate: u64,
    /// Maximum bytes per run. [default: 100M, unlimited with --time]
    #[arg(long, value_name = "SIZE", value_parser = config::parse_size)]
    bytes: Option<u64>,
    /// Maximum time per run.
    #[arg(long, value_name = "TIME", value_parser = parse_time)]
    time: Option<Duration>,
    /// Send buffer.
    #[arg(long, value_name = "SIZE", value_parser = parse_memory, default_value = "1M")]
    send_buffer: usize,
    /// Receive buffer (SO_RCVBUF). [default: the kernel's]
    #[arg(long, value_name = "SIZE", value_parser = parse_memory)]
    receive_buffer: Option<usize>,
    /// Bytes per read of the receiver.
    #[arg(long, value_name = "SIZE", value_parser = parse_memory, default_value = "64K")]
    read_size: usize,
    #[command(flatten)]
    repeat: RepeatFlags,
    /// Print JSON.
    #[arg(long)]
    json: bool,
}

/// The default amount of data.
const DEFAULT_BYTES: u64 = 100 << 20;
/// The MTU of Ethernet.
const MTU: u16 = 1500;
/// How long the receiver may be silent.
const GIVE_UP: Duration = Duration::from_secs(20);
/// How much the kernel's sender gets per call, as much as the other one takes.
const MESSAGE_BYTES: usize = 64 << 10;

/// A sender.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Case {
    /// The rule of the sender in user space; none for the kernel's sender.
    rule: Option<Rule>,
    has_offload: bool,
}

/// The result of a run.
#[derive(Debug)]
struct Run {
    bytes: u64,
    elapsed: Duration,
    sender_time: Duration,
    receiver_time: Duration,
    machine_time: Option<Duration>,
    /// The packets as the sender handed them over, where known.
    tally: Option<Tally>,
    frames: u64,
    resent: u64,
}

type Series = series::Series<Case, Run>;

/// Bits per second, and processor time of sender and receiver in µs per KiB.
const FIGURES: [Figure<Run>; 3] = [
    |run| run.bytes as f64 * 8.0 / run.elapsed.as_secs_f64().max(f64::MIN_POSITIVE),
    |run| run.us_per_kib(run.sender_time),
    |run| run.us_per_kib(run.receiver_time),
];
const MACHINE: Figure<Run> = |run| run.us_per_kib(run.machine_time.unwrap_or_default());

impl Run {
    fn us_per_kib(&self, time: Duration) -> f64 {
        time.as_secs_f64() * 1e6 / (self.bytes as f64 / 1024.0).max(f64::MIN_POSITIVE)
    }
}

impl Case {
    fn all() -> impl Iterator<Item = Case> {
        let senders = || Rule::ALL.map(Some).into_iter().chain([None]);
        [true, false].into_iter().flat_map(move |has_offload| senders().map(move |rule| Case { rule, has_offload }))
    }

    fn name(self) -> &'static str {
        self.rule.map_or("kernel", Rule::name)
    }
}

/// Runs the senders in turn. Ctrl-C ends the current run and shows all results.
pub fn run(flags: &Flags) -> Result<(), Failure> {
    let mut interrupted = Interrupted::listen()?;
    let mut all: Vec<Series> = Case::all().map(|case| Series::new(case, &FIGURES)).collect();
    let ended = series::repeat(&flags.repeat.repeats(), &mut all, |case| {
        if interrupted.look() {
            return Ok(None);
        }
        match case.rule {
            Some(rule) => flags.run_user(rule, case.has_offload, &mut interrupted),
            None => flags.run_kernel(case.has_offload, &mut interrupted),
        }
        .map(Some)
    });
    all.retain(|series| !series.outcomes.is_empty());
    if !all.is_empty() {
        show(flags, &all)?;
    }
    ended.and_then(|()| interrupted.end())
}

impl Flags {
    fn total(&self) -> Option<u64> {
        self.bytes.or_else(|| self.time.is_none().then_some(DEFAULT_BYTES))
    }

    fn run_user(&self, rule: Rule, has_offload: bool, interrupted: &mut Interrupted) -> Result<Run, Failure> {
        let options = Options {
            sender: Config {
                rule,
                card: if has_offload { Card::FULL } else { Card::PLAIN },
                send_buffer_bytes: self.send_buffer,
                give_up: GIVE_UP,
                ..Config::default()
            },
            mtu: MTU,
            receive_buffer_bytes: self.receive_buffer,
            read_bytes: self.read_size,
            total_bytes: self.total().unwrap_or(u64::MAX),
            duration: self.time,
            wire_bits_per_second: Some(self.rate),
            seed: self.repeat.seed,
            ..Options::default()
        };
        let control = Control::default();
        let (bytes, stop) = (&control.received_bytes, &control.stop);
        let watched = Watched { name: rule.name(), bytes, stop, total: self.total(), duration: self.time };
        let outcome = interrupted.watch(&watched, || user::run(&options, &control)).ok_or(TcpError::Died)?;
        let outcome = outcome.map_err(TcpError::Stream)?;
        if outcome.wrong_bytes > 0 {
            return Err(TcpError::WrongBytes { count: outcome.wrong_bytes }.into());
        }
        Ok(Run {
            bytes: outcome.received_bytes,
            elapsed: outcome.elapsed,
            sender_time: outcome.sender_time,
            receiver_time: outcome.receiver_time,
            machine_time: outcome.machine_time,
            tally: Some(outcome.tally),
            frames: outcome.frames.unwrap_or_default(),
            resent: outcome.statistics.resends,
        })
    }

    fn run_kernel(&self, has_offload: bool, interrupted: &mut Interrupted) -> Result<Run, Failure> {
        let kind = Kind::Stream { direction: Direction::Out, message_bytes: MESSAGE_BYTES, read_bytes: self.read_size };
        let test = Test {
            kind,
            connections: 1,
            total: self.total(),
            duration: self.time,
            send_buffer_bytes: Some(self.send_buffer),
            receive_buffer_bytes: self.receive_buffer,
        };
        let wire = LinkOptions { bits_per_second: self.rate, mtu: MTU };
        let control = KernelControl::default();
        let (bytes, stop) = (&control.bytes, &control.stop);
        let watched = Watched { name: "kernel", bytes, stop, total: self.total(), duration: self.time };
        let ran = interrupted.watch(&watched, || link::run(wire, has_offload, &test, &control));
        let (outcome, frames) = ran.ok_or(TcpError::Died)?.map_err(TcpError::Wire)?;
        Ok(Run {
            bytes: outcome.remote.received_bytes,
            elapsed: outcome.remote.elapsed,
            sender_time: outcome.local.process_time,
            receiver_time: outcome.remote.process_time,
            machine_time: outcome.local.machine_time,
            tally: None,
            frames,
            resent: outcome.local.retransmissions,
        })
    }
}

/// What `--json` shows of a series.
#[derive(Debug, Serialize)]
struct SeriesRecord {
    sender: &'static str,
    has_offload: bool,
    wire_bits_per_second: u64,
    bits_per_second: EstimateRecord,
    sender_us_per_kib: EstimateRecord,
    receiver_us_per_kib: EstimateRecord,
    machine_us_per_kib: EstimateRecord,
    /// Throughput, and processor time of the sender, divided by those of the rule `before` in the same rounds.
    speed_to_before: Option<RatioRecord>,
    sender_time_to_before: Option<RatioRecord>,
    runs: Vec<RunRecord>,
}

/// A ratio and its interval.
#[derive(Debug, Serialize)]
struct RatioRecord {
    ratio: f64,
    low: f64,
    high: f64,
}

/// One run.
#[derive(Debug, Serialize)]
struct RunRecord {
    bytes: u64,
    elapsed_s: f64,
    bits_per_second: f64,
    data_packets: Option<u64>,
    single_mss: Option<u64>,
    fractional: Option<u64>,
    frames: u64,
    resent: u64,
}

impl SeriesRecord {
    fn new(flags: &Flags, series: &Series, all: &[Series]) -> SeriesRecord {
        let level = flags.repeat.level();
        let estimate = |figure| EstimateRecord::new(series, figure, level);
        let ratio = |figure| {
            let ratio = to_before(series, all, figure, level)?.ratio;
            Some(RatioRecord { ratio: ratio.value, low: ratio.interval.low, high: ratio.interval.high })
        };
        SeriesRecord {
            sender: series.case.name(),
            has_offload: series.case.has_offload,
            wire_bits_per_second: flags.rate,
            bits_per_second: estimate(FIGURES[0]),
            sender_us_per_kib: estimate(FIGURES[1]),
            receiver_us_per_kib: estimate(FIGURES[2]),
            machine_us_per_kib: estimate(MACHINE),
            speed_to_before: ratio(FIGURES[0]),
            sender_time_to_before: ratio(FIGURES[1]),
            runs: series.outcomes.iter().map(RunRecord::new).collect(),
        }
    }
}

impl RunRecord {
    fn new(run: &Run) -> RunRecord {
        RunRecord {
            bytes: run.bytes,
            elapsed_s: run.elapsed.as_secs_f64(),
            bits_per_second: FIGURES[0](run),
            data_packets: run.tally.map(|tally| tally.packets()),
            single_mss: run.tally.map(|tally| tally.single),
            fractional: run.tally.map(|tally| tally.partial()),
            frames: run.frames,
            resent: run.resent,
        }
    }
}

/// Compares a figure with that of the rule `before` with the same offload, round by round; nothing with fewer than six
/// rounds.
fn to_before(series: &Series, all: &[Series], figure: Figure<Run>, level: Level) -> Option<Comparison> {
    let before = Case { rule: Some(Rule::Before), ..series.case };
    let before = all.iter().find(|other| other.case == before && other.case != series.case)?;
    let rounds = before.outcomes.len().min(series.outcomes.len());
    let figures = |series: &Series| series.outcomes.iter().take(rounds).map(figure).collect::<Vec<f64>>();
    Comparison::paired(&figures(before), &figures(series), level).ok()
}

fn show(flags: &Flags, all: &[Series]) -> Result<(), Failure> {
    let repeats = flags.repeat.repeats();
    let mut output = Output::new();
    if flags.json {
        output.json(&all.iter().map(|series| SeriesRecord::new(flags, series, all)).collect::<Vec<_>>())?;
        return Ok(output.finish()?);
    }
    write!(output, "{}", table(all, flags.repeat.level()).to_text())?;
    writeln!(output, "{}", both_ends::SAME_MACHINE)?;
    if let Some(unsure) = series::unsure(&repeats, all) {
        writeln!(output, "{unsure}")?;
    }
    Ok(output.finish()?)
}

fn table(all: &[Series], level: Level) -> Table {
    let texts = ["sender", "offload"].map(Column::text);
    let figures = ["runs", "received", "Mbit/s", "to before", "sender µs/KiB", "to before", "receiver µs/KiB"];
    let numbers = figures.into_iter().chain(["machine µs/KiB", "data packets", "single-MSS", "frames", "resent"]);
    let mut table = Table::new(texts.into_iter().chain(numbers.map(Column::number)));
    for series in all {
        let bytes: u64 = series.outcomes.iter().map(|run| run.bytes).sum();
        let ratio = |figure| to_before(series, all, figure, level).as_ref().map_or("-".to_owned(), shown);
        let sum = |count: fn(&Run) -> Option<u64>| {
            let counts: Option<Vec<u64>> = series.outcomes.iter().map(count).collect();
            counts.map_or("-".to_owned(), |counts| counts.iter().sum::<u64>().to_string())
        };
        let [speed, sender, receiver] = FIGURES;
        table.push([
            series.case.name().to_owned(),
            if series.case.has_offload { "on" } else { "off" }.to_owned(),
            series.outcomes.len().to_string(),
            units::binary_bytes(bytes as f64),
            series::shown(series, speed, level, 1e-6, 1),
            ratio(speed),
            series::shown(series, sender, level, 1.0, 3),
            ratio(sender),
            series::shown(series, receiver, level, 1.0, 3),
            series::shown(series, MACHINE, level, 1.0, 3),
            sum(|run| run.tally.map(|tally| tally.packets())),
            sum(|run| run.tally.map(|tally| tally.single)),
            sum(|run| Some(run.frames)),
            sum(|run| Some(run.resent)),
        ]);
    }
    table
}

/// Returns the interval of a ratio as changes in percent.
fn shown(comparison: &Comparison) -> String {
    let percent = |ratio: f64| (ratio - 1.0) * 100.0;
    let interval = comparison.ratio.interval;
    format!("{:+.1}% to {:+.1}%", percent(interval.low), percent(interval.high))
}

/// Reads a speed in bits per second, with a suffix for powers of 1000.
fn parse_speed(text: &str) -> Result<u64, String> {
    let wrong = || "a speed from 1M to 100G bits per second is required".to_owned();
    let digits = text.trim_end_matches(['k', 'K', 'm', 'M', 'g', 'G']);
    let factor = match text[digits.len()..].to_ascii_lowercase().as_str() {
        "" => 1,
        "k" => 1000,
        "m" => 1_000_000,
        "g" => 1_000_000_000,
        _ => return Err(wrong()),
    };
    let speed = digits.parse().ok().and_then(|number: u64| number.checked_mul(factor));
    speed.filter(|speed| (1_000_000..=100_000_000_000).contains(speed)).ok_or_else(wrong)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn speeds_are_in_powers_of_a_thousand() {
        assert_eq!(parse_speed("1G"), Ok(1_000_000_000));
        assert_eq!(parse_speed("100m"), Ok(100_000_000));
        assert!(["", "0", "5", "1GG", "200G", "1.5G"].iter().all(|text| parse_speed(text).is_err()));
    }

    #[test]
    fn rules_are_compared_with_the_one_before_of_the_same_offload_round_by_round() {
        let run = |bytes| Run {
            bytes,
            elapsed: Duration::from_secs(1),
            sender_time: Duration::from_secs(1),
            receiver_time: Duration::from_secs(1),
            machine_time: None,
            tally: None,
            frames: 1,
            resent: 0,
        };
        let series = |rule, has_offload, factor: u64| Series {
            outcomes: (1..=8).map(|round| run(round * factor)).collect(),
            ..Series::new(Case { rule, has_offload }, &FIGURES)
        };
        let all = [
            series(Some(Rule::Before), true, 1),
            series(Some(Rule::Before), false, 100),
            series(Some(Rule::After), true, 2),
            series(None, false, 50),
        ];
        let ratio = |place: usize| to_before(&all[place], &all, FIGURES[0], Level::P95);
        assert!(ratio(0).is_none() && ratio(1).is_none());
        assert!((ratio(2).unwrap().ratio.value - 2.0).abs() < 1e-9);
        assert_eq!(shown(&ratio(3).unwrap()), "-50.0% to -50.0%");
    }
}
