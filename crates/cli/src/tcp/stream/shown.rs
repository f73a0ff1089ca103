use std::io::Write;
use std::time::Duration;

use report::{Column, Table, units};
use segments::Rule;
use segments::user::Outcome;
use serde::Serialize;

use super::Flags;
use crate::failure::Failure;
use crate::output::Output;

/// What `--json` shows of a stream.
#[derive(Debug, Serialize)]
struct StreamRecord {
    rule: &'static str,
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

impl StreamRecord {
    fn new((rule, outcome): &(Rule, Outcome)) -> StreamRecord {
        let (tally, statistics) = (&outcome.tally, &outcome.statistics);
        StreamRecord {
            rule: rule.name(),
            received_bytes: outcome.received_bytes,
            elapsed_s: outcome.elapsed.as_secs_f64(),
            bits_per_second: bits_per_second(outcome),
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
            sender_us_per_kib: us_per_kib(outcome.sender_time, outcome),
            receiver_us_per_kib: us_per_kib(outcome.receiver_time, outcome),
        }
    }
}

/// Shows the streams.
pub fn show(flags: &Flags, done: &[(Rule, Outcome)]) -> Result<(), Failure> {
    let mut output = Output::new();
    if flags.json {
        output.json(&done.iter().map(StreamRecord::new).collect::<Vec<_>>())?;
    } else {
        write!(output, "{}", table(done).to_text())?;
    }
    Ok(output.finish()?)
}

fn table(done: &[(Rule, Outcome)]) -> Table {
    let numbers = ["received", "Mbit/s", "data packets", "single-MSS", "fractional", "super", "on the wire", "resent"];
    let numbers = numbers.into_iter().chain(["sender µs/KiB", "receiver µs/KiB"]).map(Column::number);
    let mut table = Table::new([Column::text("rule")].into_iter().chain(numbers));
    for (rule, outcome) in done {
        let tally = &outcome.tally;
        let shared = |count| format!("{count} ({:.1}%)", tally.share(count).unwrap_or_default() * 100.0);
        table.push([
            rule.name().to_owned(),
            units::binary_bytes(outcome.received_bytes as f64),
            format!("{:.0}", bits_per_second(outcome) * 1e-6),
            tally.packets().to_string(),
            shared(tally.single),
            shared(tally.partial()),
            shared(tally.supers()),
            tally.wire_packets.to_string(),
            outcome.statistics.resends.to_string(),
            format!("{:.3}", us_per_kib(outcome.sender_time, outcome)),
            format!("{:.3}", us_per_kib(outcome.receiver_time, outcome)),
        ]);
    }
    table
}

fn bits_per_second(outcome: &Outcome) -> f64 {
    outcome.received_bytes as f64 * 8.0 / outcome.elapsed.as_secs_f64().max(f64::MIN_POSITIVE)
}

/// Service demand as netperf has it.
fn us_per_kib(time: Duration, outcome: &Outcome) -> f64 {
    time.as_secs_f64() * 1e6 / (outcome.received_bytes as f64 / 1024.0).max(f64::MIN_POSITIVE)
}
