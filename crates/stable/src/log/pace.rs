//! Measures how long writes of the device take.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

/// Below this average an event loop may wait for a write itself: passing the request to another thread takes longer.
const QUICK: Duration = Duration::from_micros(30);

/// The initial average: a device counts as slow until some twenty writes were fast.
const UNKNOWN: Duration = Duration::from_millis(1);

/// Each write moves the average by one part in this many of the difference.
const WEIGHT: u64 = 8;

/// A moving average of the time of writes.
#[derive(Debug)]
pub(super) struct Pace {
    average_ns: AtomicU64,
}

impl Pace {
    pub(super) fn new() -> Pace {
        Pace { average_ns: AtomicU64::new(nanoseconds(UNKNOWN)) }
    }

    /// Records the time of a write; writes do not overlap.
    pub(super) fn note(&self, took: Duration) {
        let average_ns = self.average_ns.load(Ordering::Relaxed);
        let next_ns = average_ns - average_ns / WEIGHT + nanoseconds(took) / WEIGHT;
        self.average_ns.store(next_ns, Ordering::Relaxed);
    }

    pub(super) fn is_quick(&self) -> bool {
        self.average_ns.load(Ordering::Relaxed) < nanoseconds(QUICK)
    }
}

fn nanoseconds(time: Duration) -> u64 {
    u64::try_from(time.as_nanos()).unwrap_or(u64::MAX / WEIGHT)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn device_is_quick_after_many_quick_writes_and_slow_after_one_slow_one() {
        let pace = Pace::new();
        assert!(!pace.is_quick());
        (0..30).for_each(|_| pace.note(Duration::from_micros(5)));
        assert!(pace.is_quick());
        pace.note(Duration::from_millis(1));
        assert!(!pace.is_quick());
    }
}
