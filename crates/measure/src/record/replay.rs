use std::time::Duration;

use crate::Histogram;

/// What the replay of a capture found besides what each job finds.
#[derive(Debug, Clone)]
pub struct ReplaySummary {
    /// From the first call to the last reply in the capture.
    pub captured: Duration,
    /// By procedure, those that the capture has.
    pub procedures: Vec<ProcedureSummary>,
    /// How long after they were due calls began, in nanoseconds.
    pub late_ns: Histogram,
    /// What ended otherwise than in the capture, in words, and how often.
    pub otherwise: Vec<(String, u64)>,
    /// What of the capture was not replayed, in sentences.
    pub remarks: Vec<String>,
}

/// What was found for one procedure.
#[derive(Debug, Clone)]
pub struct ProcedureSummary {
    /// Its name.
    pub name: &'static str,
    /// How many calls were answered.
    pub calls: u64,
    /// How many of those have another status than in the capture.
    pub otherwise: u64,
    /// How many calls failed without a reply.
    pub errors: u64,
    /// From request to reply, in nanoseconds.
    pub latency_ns: Histogram,
}

impl ProcedureSummary {
    /// A procedure without calls.
    pub fn new(name: &'static str) -> ProcedureSummary {
        ProcedureSummary { name, calls: 0, otherwise: 0, errors: 0, latency_ns: Histogram::new() }
    }
}
