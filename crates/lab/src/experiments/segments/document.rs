//! The figures of the source: FreeBSD's `tcp_output` before and after its change of April 2016.

use measure::record::{BeforeAfter, DocumentRatio, Levels};

use super::factors::{AFTER, BUFFERS, RULE, buffer_name};

/// A row of netperf: the send buffer in bytes, then before and after the change.
struct Row {
    send_bytes: usize,
    mbit_per_second: [f64; 2],
    local_us_per_kb: [f64; 2],
    remote_us_per_kb: [f64; 2],
}

const fn row(
    send_bytes: usize,
    mbit_per_second: [f64; 2],
    local_us_per_kb: [f64; 2],
    remote_us_per_kb: [f64; 2],
) -> Row {
    Row { send_bytes, mbit_per_second, local_us_per_kb, remote_us_per_kb }
}

const NETPERF: [Row; 8] = [
    row(32 << 10, [4670.31, 4537.24], [2.747, 3.039], [3.091, 3.085]),
    row(64 << 10, [4742.45, 4628.43], [2.759, 3.231], [3.064, 3.071]),
    row(128 << 10, [4881.49, 4551.61], [2.915, 3.057], [2.981, 3.148]),
    row(256 << 10, [3734.29, 4137.23], [3.678, 3.587], [3.671, 3.356]),
    row(512 << 10, [2891.10, 2952.14], [4.155, 4.216], [4.210, 4.196]),
    row(1 << 20, [2984.77, 3001.44], [4.201, 4.310], [4.221, 4.231]),
    row(2 << 20, [2908.97, 2948.57], [4.196, 4.259], [4.213, 4.262]),
    row(4 << 20, [2922.54, 2940.28], [3.431, 3.811], [4.205, 4.194]),
];

/// Data packets of the trace with a send buffer of 1 MiB; 43480 of the first were of one segment, and none of the
/// second.
const PACKETS: [f64; 2] = [57_005.0, 35_729.0];
const TRACED_SEND_BYTES: usize = 1 << 20;

pub(super) fn speed() -> Vec<DocumentRatio> {
    NETPERF.iter().map(|row| between_hosts(ratio(row.send_bytes, row.mbit_per_second))).collect()
}

pub(super) fn sender_cost() -> Vec<DocumentRatio> {
    NETPERF.iter().map(|row| between_hosts(ratio(row.send_bytes, row.local_us_per_kb))).collect()
}

pub(super) fn receiver_cost() -> Vec<DocumentRatio> {
    NETPERF.iter().map(|row| between_hosts(ratio(row.send_bytes, row.remote_us_per_kb))).collect()
}

pub(super) fn packets() -> Vec<DocumentRatio> {
    vec![ratio(TRACED_SEND_BYTES, PACKETS)]
}

/// netperf ran between two hosts, before the change in one direction and after it in the other: a ratio is that of the
/// hosts too.
fn between_hosts(ratio: DocumentRatio) -> DocumentRatio {
    ratio.not_compared("two hosts")
}

fn ratio(send_bytes: usize, [before, after]: [f64; 2]) -> DocumentRatio {
    let level = |factor: &str, level: String| (factor.to_owned(), level);
    let levels = Levels::from([level(BUFFERS, buffer_name(send_bytes)), level(RULE, AFTER.to_owned())]);
    DocumentRatio::of_figures(levels, BeforeAfter { before, after })
}
