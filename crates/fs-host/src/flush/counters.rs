use std::sync::atomic::{AtomicU64, Ordering};

/// Counts flushes; exports may share one.
#[derive(Debug, Default)]
pub struct FlushCounters {
    flushes: AtomicU64,
    tickets: AtomicU64,
    largest: AtomicU64,
}

/// What was flushed since the server began.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct FlushCounts {
    /// Flushes of a file or of a whole file system.
    pub flushes: u64,
    /// Calls that waited for one.
    pub tickets: u64,
    /// The most calls that were carried together.
    pub largest: u64,
}

impl FlushCounters {
    /// The counts as they are now.
    pub fn counts(&self) -> FlushCounts {
        let load = |counter: &AtomicU64| counter.load(Ordering::Relaxed);
        FlushCounts { flushes: load(&self.flushes), tickets: load(&self.tickets), largest: load(&self.largest) }
    }

    /// Counts so many calls that were carried together by so many flushes.
    pub(super) fn note(&self, tickets: usize, flushes: usize) {
        self.flushes.fetch_add(flushes as u64, Ordering::Relaxed);
        self.tickets.fetch_add(tickets as u64, Ordering::Relaxed);
        self.largest.fetch_max(tickets as u64, Ordering::Relaxed);
    }
}
