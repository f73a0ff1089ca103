//! Waiting for events awake, while they follow one another closely.
//!
//! A client that sends its next request when it has the reply wakes its loop for each one. To put a thread to sleep and
//! to wake it costs more time than most calls take to answer, above all on virtual processors. So a loop whose last
//! wait was short looks for events for a little while before it sleeps. Between two looks it lets every other thread of
//! its processor run; one that computes for a while ends the polling.

use std::io;
use std::time::{Duration, Instant};

use rustix::thread::sched_yield;

use super::poller::{Events, Poller};
use crate::counters::Counter;

/// A yield that lasts longer than this has let somebody else compute, and not just send the next call.
const LONG_YIELD: Duration = Duration::from_micros(50);

/// For how long the loop sleeps at once after that: polling has no idle time to spend then, and each yield can cost a
/// time slice.
const PAUSE: Duration = Duration::from_millis(100);

/// How one loop waits.
pub(super) struct BusyPoll {
    /// For how long the loop looks at most before it sleeps; zero when it sleeps at once.
    window: Duration,
    /// Whether the last wait was shorter than the window, so that the next one may be so too.
    last_was_short: bool,
    /// Until when the loop sleeps at once, since somebody else wants its processor.
    paused_until: Instant,
}

impl BusyPoll {
    pub(super) fn new(window: Duration) -> BusyPoll {
        BusyPoll { window, last_was_short: false, paused_until: Instant::now() }
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
        if self.last_was_short && begin >= self.paused_until {
            let window = timeout.map_or(self.window, |timeout| timeout.min(self.window));
            let count = self.poll(poller, events, begin, begin + window)?;
            if count > 0 {
                return Ok(count);
            }
        }
        sleeps.add(1);
        let count = poller.wait(events, timeout)?;
        self.last_was_short = begin.elapsed() < self.window;
        Ok(count)
    }

    /// Looks for events from `now` on until there are some, until `end`, or until somebody else has computed on this
    /// processor.
    fn poll(&mut self, poller: &Poller, events: &mut Events, mut now: Instant, end: Instant) -> io::Result<usize> {
        while now < end {
            let count = poller.wait(events, Some(Duration::ZERO))?;
            if count > 0 {
                return Ok(count);
            }
            sched_yield();
            let before = std::mem::replace(&mut now, Instant::now());
            if now.duration_since(before) > LONG_YIELD {
                self.paused_until = now + PAUSE;
                break;
            }
        }
        Ok(0)
    }
}
