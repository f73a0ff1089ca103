use segments::trace::{Flow, MssSource, Tally, Trace};
use serde::Serialize;

/// A capture in `--json`.
#[derive(Debug, Serialize)]
pub struct TraceRecord {
    tcp_packets: u64,
    other_packets: u64,
    short_packets: u64,
    untold_packets: u64,
    duration_s: f64,
    connections: Vec<FlowRecord>,
}

/// One direction of a connection.
#[derive(Debug, Serialize)]
struct FlowRecord {
    from: String,
    to: String,
    mss_bytes: usize,
    mss_source: &'static str,
    packets: u64,
    #[serde(flatten)]
    counts: TallyRecord,
    early_single_mss: u64,
    interval_s: f64,
    intervals: Vec<TallyRecord>,
}

/// Counts of data packets.
#[derive(Debug, Serialize)]
struct TallyRecord {
    data_packets: u64,
    single_mss: u64,
    full: u64,
    fractional: u64,
    supers: u64,
    full_supers: u64,
    short: u64,
    wire_packets: u64,
    data_bytes: u64,
    single_mss_share: Option<f64>,
}

impl TraceRecord {
    /// The record of a capture.
    pub fn new(trace: &Trace) -> TraceRecord {
        TraceRecord {
            tcp_packets: trace.tcp_packets,
            other_packets: trace.other_packets,
            short_packets: trace.short_packets,
            untold_packets: trace.untold_packets,
            duration_s: trace.duration.as_secs_f64(),
            connections: trace.flows.iter().map(FlowRecord::new).collect(),
        }
    }
}

impl FlowRecord {
    fn new(flow: &Flow) -> FlowRecord {
        FlowRecord {
            from: flow.from.to_string(),
            to: flow.to.to_string(),
            mss_bytes: flow.mss,
            mss_source: match flow.mss_source {
                MssSource::Given => "given",
                MssSource::Handshake => "handshake",
                MssSource::Assumed => "assumed",
            },
            packets: flow.packets,
            counts: TallyRecord::new(&flow.tally),
            early_single_mss: flow.early,
            interval_s: flow.timeline.interval().as_secs_f64(),
            intervals: flow.timeline.tallies().iter().map(TallyRecord::new).collect(),
        }
    }
}

impl TallyRecord {
    fn new(tally: &Tally) -> TallyRecord {
        TallyRecord {
            data_packets: tally.packets(),
            single_mss: tally.single,
            full: tally.full(),
            fractional: tally.partial(),
            supers: tally.supers(),
            full_supers: tally.whole,
            short: tally.short,
            wire_packets: tally.wire_packets,
            data_bytes: tally.bytes,
            single_mss_share: tally.share(tally.single),
        }
    }
}
