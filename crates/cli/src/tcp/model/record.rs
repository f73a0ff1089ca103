use serde::Serialize;

use super::Done;

/// A run in `--json`.
#[derive(Debug, Serialize)]
pub struct RunRecord {
    limit: &'static str,
    rule: &'static str,
    send_buffer_bytes: usize,
    receive_buffer_bytes: u64,
    received_bytes: u64,
    data_packets: u64,
    single_mss: u64,
    full: u64,
    fractional: u64,
    supers: u64,
    wire_packets: u64,
    acks: u64,
    resends: u64,
    elapsed_s: f64,
    bits_per_second: f64,
    sender_us_per_kib: f64,
}

impl RunRecord {
    /// The record of a run.
    pub fn new(done: &Done) -> RunRecord {
        let Done { limit, rule, buffers, outcome } = done;
        let tally = &outcome.tally;
        RunRecord {
            limit: limit.name(),
            rule: rule.name(),
            send_buffer_bytes: buffers.0,
            receive_buffer_bytes: buffers.1,
            received_bytes: outcome.received_bytes,
            data_packets: tally.packets(),
            single_mss: tally.single,
            full: tally.full(),
            fractional: tally.partial(),
            supers: tally.supers(),
            wire_packets: tally.wire_packets,
            acks: outcome.acks,
            resends: outcome.statistics.resends,
            elapsed_s: outcome.elapsed.as_secs_f64(),
            bits_per_second: outcome.bytes_per_second() * 8.0,
            sender_us_per_kib: outcome.service_demand_us(),
        }
    }
}
