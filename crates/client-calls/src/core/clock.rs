use std::time::{Duration, Instant};

use crate::statistics::nanoseconds;

/// Converts times to nanoseconds since the connection was made, which are cheaper to keep, compare and subtract.
#[derive(Debug)]
pub(super) struct Clock {
    start: Instant,
    /// The last conversion: all messages of one batch have one time.
    last: (Instant, u64),
}

impl Clock {
    /// Later than every time.
    pub(super) const NEVER_NS: u64 = u64::MAX;

    pub(super) fn new(start: Instant) -> Clock {
        Clock { start, last: (start, 0) }
    }

    /// A time in nanoseconds; 0 if it is before the connection was made.
    #[inline]
    pub(super) fn ns(&mut self, now: Instant) -> u64 {
        if now != self.last.0 {
            self.turn(now);
        }
        self.last.1
    }

    #[inline(never)]
    fn turn(&mut self, now: Instant) {
        self.last = (now, nanoseconds(now.saturating_duration_since(self.start)));
    }

    /// The time at `ns` nanoseconds.
    pub(super) fn instant(&self, ns: u64) -> Instant {
        self.start + Duration::from_nanos(ns)
    }
}
