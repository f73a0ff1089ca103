//! Waiting for events awake, while they follow one another closely.
//!
//! A client that sends its next request when it has the reply wakes its loop for each one. To put a thread to sleep and to wake it costs
//! more time than most calls take to answer, above all on virtual processors. So a loop whose last wait was short looks for events for a
//! little while before it sleeps. Between two looks it lets every other thread of its processor run.

use std::io;
use std::time::{Duration, Instant};

use rustix::thread::sched_yield;

use super::poller::{Events, Poller};
use crate::counters::Counter;

/// How one loop waits.
pub(super) struct BusyPoll {
    /// For how long the loop looks at most before it sleeps; zero when it sleeps at once.
    window: Duration,
    /// Whether the last wait was shorter than the window, so that the next one may be so too.
    last_was_short: bool,
}

impl BusyPoll {
    pub(super) fn new(window: Duration) -> BusyPoll {
        BusyPoll { window, last_was_short: false }
    }

    /// Waits until something happens, at most for `timeout`. Returns how many events there are.
    pub(super) fn wait(
        &mut self,
        poller: &Poller,
        events: &mut Events,
        timeout: Option<Duration>,
        sleeps: &Counter,
    ) -> io::Result<usize> {
        if timeout == Some(Duration::ZERO) {
            return poller.wait(events, timeout);
        }
        let begin = Instant::now();
        let window = timeout.map_or(self.window, |timeout| timeout.min(self.window));
        while self.last_was_short && begin.elapsed() < window {
            let count = poller.wait(events, Some(Duration::ZERO))?;
            if count > 0 {
                return Ok(count);
            }
            sched_yield();
        }
        sleeps.add(1);
        let count = poller.wait(events, timeout)?;
        self.last_was_short = begin.elapsed() < self.window;
        Ok(count)
    }
}
