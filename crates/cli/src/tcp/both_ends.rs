//! Tests between two kernels: runs one, and shows the figures of its two ends.

use std::net::SocketAddr;
use std::time::Duration;

use segments::kernel::{self, Control, End, Test, TestResult};
use serde::Serialize;

use super::watch::{Interrupted, Watched};
use crate::failure::{Failure, TcpError};

/// Runs a test with progress; returns nothing after an interruption.
///
/// # Errors
/// When the test fails.
pub fn one(
    name: &'static str,
    address: SocketAddr,
    test: &Test,
    interrupted: &mut Interrupted,
) -> Result<Option<TestResult>, Failure> {
    if interrupted.look() {
        return Ok(None);
    }
    let control = Control::default();
    let total = test.total.map(|total| match test.kind {
        kernel::Kind::Stream { .. } => total.saturating_mul((test.streams() / test.connections) as u64),
        kernel::Kind::Requests { request_bytes, response_bytes } => {
            total.saturating_mul((request_bytes + response_bytes) as u64)
        }
    });
    let watched = Watched { name, bytes: &control.bytes, stop: &control.stop, total, duration: test.duration };
    let outcome = interrupted.watch(&watched, || kernel::run(address, test, &control));
    outcome.ok_or(TcpError::Died)?.map(Some).map_err(|error| TcpError::Kernel(error).into())
}

/// The columns behind a test's own: processor load and processor time of both machines, and retransmitted segments.
pub const HEADS: [&str; 5] = ["local machine", "µs/KiB", "remote machine", "µs/KiB ", "resent"];

/// One of the two ends.
type Side = fn(&TestResult) -> &End;

/// The cells below [`HEADS`].
pub fn cells(outcomes: &[TestResult]) -> [String; 5] {
    let mean = |figure: &dyn Fn(&TestResult) -> Option<f64>| {
        let figures: Vec<f64> = outcomes.iter().filter_map(figure).collect();
        (!figures.is_empty()).then(|| figures.iter().sum::<f64>() / figures.len() as f64)
    };
    let percent = |end: Side| {
        mean(&|outcome| end(outcome).utilization()).map_or("-".to_owned(), |share| format!("{:.0}%", share * 100.0))
    };
    let demand = |end: Side| {
        let figure = |outcome: &TestResult| end(outcome).machine_time.map(|time| us_per_kib(time, outcome));
        mean(&figure).map_or("-".to_owned(), |demand| format!("{demand:.3}"))
    };
    let resent = outcomes.iter().map(|outcome| outcome.local.retransmissions + outcome.remote.retransmissions);
    let (local, remote): (Side, Side) = (|outcome| &outcome.local, |outcome| &outcome.remote);
    [percent(local), demand(local), percent(remote), demand(remote), resent.sum::<u64>().to_string()]
}

/// A warning for tests within one machine.
pub const SAME_MACHINE: &str = "both ends are on this machine; its processor time includes both";

/// Returns a warning if a test was within one machine.
pub fn note<'a>(mut outcomes: impl Iterator<Item = &'a TestResult>) -> Option<String> {
    outcomes.any(|outcome| outcome.is_same_machine).then(|| SAME_MACHINE.to_owned())
}

/// Returns processor time in µs per KiB that arrived at either end.
pub fn us_per_kib(time: Duration, outcome: &TestResult) -> f64 {
    time.as_secs_f64() * 1e6 / (outcome.bytes() as f64 / 1024.0).max(f64::MIN_POSITIVE)
}

/// What `--json` shows of an end.
#[derive(Debug, Serialize)]
pub struct EndRecord {
    sent_bytes: u64,
    received_bytes: u64,
    elapsed_s: f64,
    process_s: f64,
    process_us_per_kib: f64,
    machine_busy_s: Option<f64>,
    machine_us_per_kib: Option<f64>,
    machine_busy_share: Option<f64>,
    processors: usize,
    retransmissions: u64,
}

impl EndRecord {
    /// One end of a test.
    pub fn new(end: &End, outcome: &TestResult) -> EndRecord {
        EndRecord {
            sent_bytes: end.sent_bytes,
            received_bytes: end.received_bytes,
            elapsed_s: end.elapsed.as_secs_f64(),
            process_s: end.process_time.as_secs_f64(),
            process_us_per_kib: us_per_kib(end.process_time, outcome),
            machine_busy_s: end.machine_time.map(|time| time.as_secs_f64()),
            machine_us_per_kib: end.machine_time.map(|time| us_per_kib(time, outcome)),
            machine_busy_share: end.utilization(),
            processors: end.processors,
            retransmissions: end.retransmissions,
        }
    }
}
