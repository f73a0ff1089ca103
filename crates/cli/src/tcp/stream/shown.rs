use std::io::Write;

use measure::Level;
use report::{Column, Table, units};
use segments::user::TransferResult;
use serde::Serialize;

use super::Flags;
use super::user::{FIGURES, Series, tally};
use crate::failure::Failure;
use crate::output::Output;
use crate::tcp::series::{self, EstimateRecord};

/// What `--json` shows of a series.
#[derive(Debug, Serialize)]
struct SeriesRecord {
    rule: &'static str,
    send_buffer_bytes: Option<usize>,
    receive_buffer_bytes: Option<u64>,
    bits_per_second: EstimateRecord,
    sender_us_per_kib: EstimateRecord,
    receiver_us_per_kib: EstimateRecord,
    runs: Vec<RunRecord>,
}

/// One run.
#[derive(Debug, Serialize)]
struct RunRecord {
    received_bytes: u64,
    elapsed_s: f64,
    bits_per_second: f64,
    mss_bytes: usize,
    data_packets: u64,
    single_mss: u64,
    full: u64,
    fractional: u64,
    supers: u64,
    wire_packets: u64,
    resends: u64,
    fast_recoveries: u64,
    timeouts: u64,
    sender_us_per_kib: f64,
    receiver_us_per_kib: f64,
}

impl SeriesRecord {
    fn new(series: &Series, level: Level) -> SeriesRecord {
        let [bits_per_second, sender_us_per_kib, receiver_us_per_kib] =
            FIGURES.map(|figure| EstimateRecord::new(series, figure, level));
        SeriesRecord {
            rule: series.case.rule.name(),
            send_buffer_bytes: series.case.buffers.map(|(send, _)| send),
            receive_buffer_bytes: series.case.buffers.map(|(_, receive)| receive),
            bits_per_second,
            sender_us_per_kib,
            receiver_us_per_kib,
            runs: series.outcomes.iter().map(RunRecord::new).collect(),
        }
    }
}

impl RunRecord {
    fn new(outcome: &TransferResult) -> RunRecord {
        let (tally, statistics) = (&outcome.tally, &outcome.statistics);
        let [bits_per_second, sender_us_per_kib, receiver_us_per_kib] = FIGURES.map(|figure| figure(outcome));
        RunRecord {
            received_bytes: outcome.received_bytes,
            elapsed_s: outcome.elapsed.as_secs_f64(),
            bits_per_second,
            mss_bytes: outcome.mss,
            data_packets: tally.packets(),
            single_mss: tally.single,
            full: tally.full(),
            fractional: tally.partial(),
            supers: tally.supers(),
            wire_packets: tally.wire_packets,
            resends: statistics.resends,
            fast_recoveries: statistics.fast_recoveries,
            timeouts: statistics.timeouts,
            sender_us_per_kib,
            receiver_us_per_kib,
        }
    }
}

/// Shows the series.
pub fn show(flags: &Flags, all: &[Series]) -> Result<(), Failure> {
    let repeats = flags.repeat.repeats();
    let mut output = Output::new();
    if flags.json {
        output.json(&all.iter().map(|series| SeriesRecord::new(series, flags.repeat.level())).collect::<Vec<_>>())?;
        return Ok(output.finish()?);
    }
    write!(output, "{}", table(flags, all).to_text())?;
    if let Some(unsure) = series::unsure(&repeats, all) {
        writeln!(output, "{unsure}")?;
    }
    Ok(output.finish()?)
}

fn table(flags: &Flags, all: &[Series]) -> Table {
    let has_buffers = all.iter().any(|series| series.case.buffers.is_some());
    let buffers = ["send buffer", "receive buffer"].into_iter().filter(|_| has_buffers);
    let numbers = ["runs", "received", "Mbit/s", "sender µs/KiB", "receiver µs/KiB", "data packets", "single-MSS"];
    let numbers = buffers.chain(numbers).chain(["fractional", "super", "on the wire", "resent"]).map(Column::number);
    let mut table = Table::new([Column::text("rule")].into_iter().chain(numbers));
    for series in all {
        let mut cells = vec![series.case.rule.name().to_owned()];
        cells.extend(
            series.case.buffers.into_iter().flat_map(|(send, receive)| [send.to_string(), receive.to_string()]),
        );
        cells.extend(figures(series, flags.repeat.level()));
        cells.extend(counts(series));
        table.push(cells);
    }
    table
}

fn figures(series: &Series, level: Level) -> [String; 5] {
    let received: u64 = series.outcomes.iter().map(|outcome| outcome.received_bytes).sum();
    let [speed, sender, receiver] = FIGURES;
    [
        series.outcomes.len().to_string(),
        units::binary_bytes(received as f64),
        series::shown(series, speed, level, 1e-6, 0),
        series::shown(series, sender, level, 1.0, 3),
        series::shown(series, receiver, level, 1.0, 3),
    ]
}

fn counts(series: &Series) -> [String; 6] {
    let tally = tally(series);
    let shared = |count| format!("{count} ({:.1}%)", tally.share(count).unwrap_or_default() * 100.0);
    [
        tally.packets().to_string(),
        shared(tally.single),
        shared(tally.partial()),
        shared(tally.supers()),
        tally.wire_packets.to_string(),
        series.outcomes.iter().map(|outcome| outcome.statistics.resends).sum::<u64>().to_string(),
    ]
}
