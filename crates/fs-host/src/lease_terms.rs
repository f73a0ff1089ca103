//! Whether the kernel gives leases on files, and how long it waits for their end.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use crate::volume::CacheKind;

/// Whether the kernel gives leases.
const ENABLED: &str = "/proc/sys/fs/leases-enable";
/// The time in seconds after which it ends a lease by force.
const BREAK_TIME: &str = "/proc/sys/fs/lease-break-time";

/// With less time, a client could not return a delegation before the kernel ends its lease.
const MIN_BREAK_TIME_S: u64 = 5;

/// How long the kernel waits for the end of a lease.
#[derive(Debug)]
pub(crate) struct LeaseTerms {
    is_local: bool,
    /// In seconds; 0 without leases.
    break_time_s: AtomicU64,
}

impl LeaseTerms {
    pub(crate) fn of(cache: CacheKind) -> LeaseTerms {
        let terms = LeaseTerms { is_local: cache != CacheKind::Unknown, break_time_s: AtomicU64::new(0) };
        terms.refresh();
        terms
    }

    /// Asks the kernel again.
    pub(crate) fn refresh(&self) {
        let is_on = self.is_local && number_in(ENABLED) == Some(1);
        let break_time_s = number_in(BREAK_TIME).filter(|time_s| is_on && *time_s >= MIN_BREAK_TIME_S);
        self.break_time_s.store(break_time_s.unwrap_or(0), Ordering::Relaxed);
    }

    pub(crate) fn break_time(&self) -> Option<Duration> {
        match self.break_time_s.load(Ordering::Relaxed) {
            0 => None,
            time_s => Some(Duration::from_secs(time_s)),
        }
    }
}

fn number_in(file: &str) -> Option<u64> {
    std::fs::read_to_string(file).ok()?.trim().parse().ok()
}
