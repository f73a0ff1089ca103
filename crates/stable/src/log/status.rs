use std::time::Duration;

use super::Log;
use super::ring::RING_START;

/// The state of a log. Counters begin when it is opened.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Status {
    /// How many bytes of the device the log uses, headers included.
    pub size_bytes: u64,
    /// The capacity for records and their heads, in bytes.
    pub room_bytes: u64,
    /// How many of these are taken.
    pub used_bytes: u64,
    /// The age of the oldest needed record, or of an older one in its batch.
    pub oldest_age: Option<Duration>,
    /// Batches that were written.
    pub batches: u64,
    /// Records in them.
    pub records: u64,
    /// The most records of one batch.
    pub largest_group: u32,
    /// Appends that waited because the log was full.
    pub stalls: u64,
    /// Whether a write failed, so that the log takes no more records.
    pub failed: bool,
}

impl Log {
    /// How the log is doing.
    pub fn status(&self) -> Status {
        let state = self.state();
        let counts = state.counts();
        Status {
            size_bytes: RING_START + self.ring.bytes(),
            room_bytes: self.ring.bytes(),
            used_bytes: state.used_bytes(),
            oldest_age: state.oldest_age(),
            batches: counts.batches,
            records: counts.records,
            largest_group: counts.largest_group,
            stalls: counts.stalls,
            failed: state.check().is_err(),
        }
    }
}
