use std::time::{Duration, Instant};

use crate::statistics::nanoseconds;

/// Turns times into nanoseconds since a connection was made, which cost less to keep, to compare and to subtract.
#[derive(Debug)]
pub(super) struct Clock {
    start: Instant,
    /// The time that was turned last: everything that one batch brings has one time.
    last: (Instant, u64),
}

impl Clock {
    /// No time at all: later than all others.
    pub(super) const NEVER_NS: u64 = u64::MAX;

    pub(super) fn new(start: Instant) -> Clock {
        Clock { start, last: (start, 0) }
    }

    /// A time in nanoseconds; one from before the connection was made is zero.
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

    /// The time that is so many nanoseconds.
    pub(super) fn instant(&self, ns: u64) -> Instant {
        self.start + Duration::from_nanos(ns)
    }
}
