use std::sync::Arc;
use std::time::Duration;

use super::ring::RING_START;
use super::state::{age, now};
use super::survey::{Damage, Survey};
use super::{Log, LogError};
use crate::device::Device;

/// The contents of a log's device, damaged or not.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Check {
    /// How many bytes of the device the log uses, headers included.
    pub size_bytes: u64,
    /// How many of them hold kept batches.
    pub used_bytes: u64,
    /// The owner's description of itself.
    pub owner: Vec<u8>,
    /// Kept batches, including those behind damage.
    pub batches: u64,
    /// Their records that are needed.
    pub records: u64,
    /// The bytes of these records.
    pub record_bytes: u64,
    /// The age of the oldest of these records.
    pub oldest_age: Option<Duration>,
    /// Whether one of the two headers is incomplete, as after a crash during a trim. The next trim repairs it.
    pub has_damaged_header: bool,
    /// Whether an incomplete batch follows the last one. A crash leaves one whose records were never reported durable;
    /// a device that lost or changed the last batch leaves the same.
    pub has_torn_end: bool,
    /// Damage that lost durable records.
    pub damages: Vec<Damage>,
}

impl Check {
    /// Whether no record is needed, and none was lost.
    pub fn is_clean(&self) -> bool {
        self.records == 0 && self.damages.is_empty()
    }
}

impl Log {
    /// Reads the whole log in a device, and changes nothing.
    ///
    /// # Errors
    /// When there is no log, or the device fails. Damaged batches are no error here.
    pub fn check(device: Arc<dyn Device>) -> Result<Check, LogError> {
        let survey = Survey::make(device)?;
        let totals = survey.totals;
        Ok(Check {
            size_bytes: RING_START + survey.ring.bytes(),
            used_bytes: totals.stored_bytes,
            owner: survey.header.owner,
            batches: totals.batches,
            records: totals.records,
            record_bytes: totals.record_bytes,
            oldest_age: totals.oldest_ms.map(|oldest_ms| age(now(), oldest_ms)),
            has_damaged_header: survey.has_damaged_header,
            has_torn_end: survey.has_torn_end,
            damages: survey.damages,
        })
    }
}
