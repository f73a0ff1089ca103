use std::sync::atomic::{AtomicU64, Ordering};

/// Counts flushes; exports may share one.
#[derive(Debug, Default)]
pub struct FlushCounters {
    calls: AtomicU64,
    flushes: AtomicU64,
    waits: AtomicU64,
    timeouts: AtomicU64,
    groups: AtomicU64,
    largest_group: AtomicU64,
}

/// What was flushed since the server began.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct FlushCounts {
    /// Calls that required stable storage.
    pub calls: u64,
    /// Flushes of a file or of a whole file system.
    pub flushes: u64,
    /// Calls that waited for flushes of others.
    pub waits: u64,
    /// Those that waited for the longest time, and then flushed by themselves.
    pub timeouts: u64,
    /// Groups of two or more calls that were flushed together.
    pub groups: u64,
    /// The most calls of one group.
    pub largest_group: u64,
}

impl FlushCounters {
    /// The counts as they are now.
    pub fn counts(&self) -> FlushCounts {
        let load = |counter: &AtomicU64| counter.load(Ordering::Relaxed);
        FlushCounts {
            calls: load(&self.calls),
            flushes: load(&self.flushes),
            waits: load(&self.waits),
            timeouts: load(&self.timeouts),
            groups: load(&self.groups),
            largest_group: load(&self.largest_group),
        }
    }

    pub(super) fn note_call(&self) {
        self.calls.fetch_add(1, Ordering::Relaxed);
    }

    pub(super) fn note_flush(&self) {
        self.flushes.fetch_add(1, Ordering::Relaxed);
    }

    pub(super) fn note_wait(&self) {
        self.waits.fetch_add(1, Ordering::Relaxed);
    }

    pub(super) fn note_timeout(&self) {
        self.timeouts.fetch_add(1, Ordering::Relaxed);
    }

    /// Counts a group, unless it is of one call.
    pub(super) fn note_group(&self, calls: usize) {
        if calls > 1 {
            self.groups.fetch_add(1, Ordering::Relaxed);
            self.largest_group.fetch_max(calls as u64, Ordering::Relaxed);
        }
    }
}
