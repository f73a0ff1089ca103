//! The figures of the source: FreeBSD's `tcp_output` before and after its change of April 2016.
//!
//! Its netperf rows before and after the change went in opposite directions, so their ratios hold the difference of two
//! hosts. They are compared over buffers instead, within a direction.

use measure::record::{BeforeAfter, DocumentRatio, Levels};
use segments::model::DOCUMENT_PACKETS;

use super::factors::{AFTER, BEFORE, BUFFERS, DIRECTION, RULE, TO_R1, TO_S1, buffer_name};

/// A row of netperf: the send buffer in bytes, then before and after the change.
struct Row {
    send_bytes: usize,
    mbit_per_second: [f64; 2],
    remote_us_per_kb: [f64; 2],
}

const fn row(send_bytes: usize, mbit_per_second: [f64; 2], remote_us_per_kb: [f64; 2]) -> Row {
    Row { send_bytes, mbit_per_second, remote_us_per_kb }
}

const NETPERF: [Row; 8] = [
    row(32 << 10, [4670.31, 4537.24], [3.091, 3.085]),
    row(64 << 10, [4742.45, 4628.43], [3.064, 3.071]),
    row(128 << 10, [4881.49, 4551.61], [2.981, 3.148]),
    row(256 << 10, [3734.29, 4137.23], [3.671, 3.356]),
    row(512 << 10, [2891.10, 2952.14], [4.210, 4.196]),
    row(1 << 20, [2984.77, 3001.44], [4.221, 4.231]),
    row(2 << 20, [2908.97, 2948.57], [4.213, 4.262]),
    row(4 << 20, [2922.54, 2940.28], [4.205, 4.194]),
];

/// The send buffer of the trace, with which the others are compared.
pub(super) const TRACED_SEND_BYTES: usize = 1 << 20;

/// Speed by send buffer.
pub(super) fn speed() -> Vec<DocumentRatio> {
    by_buffer(|row| row.mbit_per_second)
}

/// The receiver's service demand by send buffer.
pub(super) fn receiver_cost() -> Vec<DocumentRatio> {
    by_buffer(|row| row.remote_us_per_kb)
}

/// Data packets of the trace.
pub(super) fn packets() -> DocumentRatio {
    let [before, _, after, _] = DOCUMENT_PACKETS.map(|count| count as f64);
    traced(before, after)
}

/// The share of other packets than single-MSS ones in percent: that of single-MSS packets is 0 after the change, and a
/// ratio to it says nothing.
pub(super) fn others() -> DocumentRatio {
    let [before, single_before, after, single_after] = DOCUMENT_PACKETS.map(|count| count as f64);
    traced((1.0 - single_before / before) * 100.0, (1.0 - single_after / after) * 100.0)
}

fn traced(before: f64, after: f64) -> DocumentRatio {
    let levels = levels(TRACED_SEND_BYTES, [(RULE, AFTER), (DIRECTION, TO_R1)]);
    DocumentRatio::of_figures(levels, BeforeAfter { before, after })
}

/// A figure of each row divided by that with the buffers of the trace, for the rule and direction of each phase.
fn by_buffer(figures: impl Fn(&Row) -> [f64; 2]) -> Vec<DocumentRatio> {
    let phases = [(0, BEFORE, TO_R1), (1, AFTER, TO_S1)];
    let base = NETPERF.iter().find(|row| row.send_bytes == TRACED_SEND_BYTES).map(&figures).unwrap_or_default();
    let ratio = |row: &Row, (phase, rule, direction): (usize, &str, &str)| {
        let levels = levels(row.send_bytes, [(RULE, rule), (DIRECTION, direction)]);
        DocumentRatio::of_figures(levels, BeforeAfter { before: base[phase], after: figures(row)[phase] })
    };
    let rows = NETPERF.iter().filter(|row| row.send_bytes != TRACED_SEND_BYTES);
    rows.flat_map(|row| phases.map(|phase| ratio(row, phase))).collect()
}

fn levels(send_bytes: usize, others: [(&str, &str); 2]) -> Levels {
    let others = others.map(|(factor, level)| (factor.to_owned(), level.to_owned()));
    others.into_iter().chain([(BUFFERS.to_owned(), buffer_name(send_bytes))]).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shares_of_other_packets_are_those_of_the_trace() {
        let others = others();
        assert!((others.ratio() - 57_005.0 / (57_005.0 - 43_480.0)).abs() < 1e-9, "{others:?}");
    }

    #[test]
    fn rows_are_divided_by_that_of_the_trace_in_their_own_direction() {
        let speed = speed();
        assert_eq!(speed.len(), 14);
        let found = |rule: &str| {
            let is_it = |ratio: &&DocumentRatio| ratio.levels[RULE] == rule && ratio.levels[BUFFERS] == "32K";
            speed.iter().find(is_it).map(|ratio| (ratio.levels[DIRECTION].as_str(), ratio.ratio())).unwrap()
        };
        assert_eq!(found(BEFORE), (TO_R1, 4670.31 / 2984.77));
        assert_eq!(found(AFTER), (TO_S1, 4537.24 / 3001.44));
    }
}
