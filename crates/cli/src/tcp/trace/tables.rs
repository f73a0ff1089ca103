use report::{Column, Table, units};
use segments::trace::{Flow, MssSource, Tally, Trace};

use super::senders;

/// The maximum number of rows; JSON has all connections.
const MAX_ROWS: usize = 20;

/// Returns one row for each direction with data, one for the sum, and counts of ignored packets.
pub fn connections(trace: &Trace) -> String {
    let heads = [Column::text("from"), Column::text("to"), Column::number("MSS")];
    let mut table = Table::new(heads.into_iter().chain(counts_heads()).chain([Column::number("early")]));
    let flows = senders(trace);
    let (shown, rest) = flows.split_at(flows.len().min(MAX_ROWS));
    for flow in shown {
        let ends = [flow.from.to_string(), flow.to.to_string(), mss(flow)];
        table.push(ends.into_iter().chain(counts(&flow.tally)).chain([flow.early.to_string()]));
    }
    let sums = [(rest, format!("{} others", rest.len())), (&flows, "all".to_owned())];
    for (flows, name) in sums.into_iter().skip(usize::from(rest.is_empty())).filter(|_| flows.len() > 1) {
        let early = flows.iter().map(|flow| flow.early).sum::<u64>().to_string();
        table.push([name, String::new(), String::new()].into_iter().chain(counts(&total(flows))).chain([early]));
    }
    let mut text = if table.is_empty() { String::new() } else { table.to_text() };
    if flows.is_empty() {
        text += "no TCP packet has data\n";
    }
    text + &notes(trace, &flows)
}

/// Returns one row for each interval of each direction with data.
pub fn intervals(trace: &Trace) -> String {
    let heads = [Column::number("at"), Column::text("from"), Column::text("to")];
    let mut table = Table::new(heads.into_iter().chain(counts_heads()));
    for flow in senders(trace) {
        let timeline = flow.timeline.tallies().iter().enumerate();
        for (index, tally) in timeline.filter(|(_, tally)| tally.packets() > 0) {
            let at = flow.timeline.interval().saturating_mul(u32::try_from(index).unwrap_or(u32::MAX));
            let cells = [format!("{:.3} s", at.as_secs_f64()), flow.from.to_string(), flow.to.to_string()];
            table.push(cells.into_iter().chain(counts(tally)));
        }
    }
    table.to_text()
}

/// Adds up all packets.
fn total(flows: &[&Flow]) -> Tally {
    flows.iter().fold(Tally::default(), |mut sum, flow| {
        sum += flow.tally;
        sum
    })
}

fn counts_heads() -> [Column; 9] {
    ["data packets", "single-MSS", "full", "fractional", "super", "of them full", "short", "on the wire", "data"]
        .map(Column::number)
}

fn counts(tally: &Tally) -> [String; 9] {
    let shared = |count| match tally.share(count) {
        Some(share) => format!("{count} ({:.1}%)", share * 100.0),
        None => "0".to_owned(),
    };
    [
        tally.packets().to_string(),
        shared(tally.single),
        shared(tally.full()),
        shared(tally.partial()),
        shared(tally.supers()),
        tally.whole.to_string(),
        tally.short.to_string(),
        tally.wire_packets.to_string(),
        units::binary_bytes(tally.bytes as f64),
    ]
}

fn mss(flow: &Flow) -> String {
    match flow.mss_source {
        MssSource::Assumed => format!("{}?", flow.mss),
        MssSource::Given | MssSource::Handshake => flow.mss.to_string(),
    }
}

fn notes(trace: &Trace, flows: &[&Flow]) -> String {
    let mut notes = Vec::new();
    if flows.iter().any(|flow| flow.mss_source == MssSource::Assumed) {
        notes.push(
            "? the handshake is not in the capture, so this is the MSS of Ethernet; set another one with --mss BYTES"
                .to_owned(),
        );
    }
    if trace.short_packets > 0 {
        let count = trace.short_packets;
        notes.push(format!("{count} TCP packets are not counted: too little was captured; use tcpdump -s 128"));
    }
    if trace.untold_packets > 0 {
        notes.push(format!("{} packets are not counted: there are too many connections", trace.untold_packets));
    }
    let seconds = trace.duration.as_secs_f64();
    notes.push(format!("{} TCP packets and {} others in {seconds:.3} s", trace.tcp_packets, trace.other_packets));
    notes.into_iter().map(|note| note + "\n").collect()
}
