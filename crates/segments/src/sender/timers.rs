use std::time::Duration;

use super::{Failure, Sender, TcpState};

/// The timers.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Timers {
    /// Retransmission timer: data in flight counts as lost (RFC 6298).
    pub retransmit: Option<Duration>,
    /// Persist timer: probes a closed window, or uses a silly one (RFC 9293 §3.8.6.1, §3.8.6.2.1).
    pub persist: Option<Duration>,
    /// The connection is forgotten.
    pub forget: Option<Duration>,
    /// The time since which data or probes are unanswered.
    pub unanswered_since: Option<Duration>,
    /// The persist timer has expired, so the next send may be silly.
    pub is_forced: bool,
}

impl Sender {
    /// When [`Sender::on_timeout`] must be called, unless something happens earlier.
    pub fn next_timeout(&self) -> Option<Duration> {
        let timers = &self.timers;
        [timers.retransmit, timers.persist, timers.forget].into_iter().flatten().min()
    }

    /// Handles the timers that have expired at `now`.
    pub fn on_timeout(&mut self, now: Duration) {
        let is_due = |timer: Option<Duration>| timer.is_some_and(|at| at <= now);
        if is_due(self.timers.forget) {
            self.end(None);
            return;
        }
        if is_due(self.timers.retransmit) {
            self.timers.retransmit = None;
            self.on_retransmission_timeout(now);
        }
        if is_due(self.timers.persist) {
            self.timers.persist = None;
            self.on_persist_timeout(now);
        }
    }

    fn on_retransmission_timeout(&mut self, now: Duration) {
        if self.gives_up(now) {
            return;
        }
        let is_first = self.una >= self.resent_below;
        self.congestion.on_timeout(self.max - self.una, is_first);
        self.rto.back_off();
        self.nxt = self.una;
        self.resent_below = self.max;
        self.timed = None;
        self.duplicates = 0;
        self.recovery = None;
        self.scoreboard.clear();
        self.statistics.timeouts += 1;
    }

    fn on_persist_timeout(&mut self, now: Duration) {
        if !self.gives_up(now) {
            self.rto.back_off();
            self.timers.is_forced = true;
        }
    }

    /// Fails the connection after too long a silence.
    fn gives_up(&mut self, now: Duration) -> bool {
        let since = *self.timers.unanswered_since.get_or_insert(now);
        let waited = now.saturating_sub(since);
        let is_over = waited >= self.config.give_up;
        if is_over {
            self.end(Some(Failure::TimedOut(waited)));
        }
        is_over
    }

    /// Both sides have closed, or only this one, and the other is silent.
    pub(super) fn forget_later(&mut self, now: Duration) {
        let wait = if self.state == TcpState::TimeWait { self.config.time_wait } else { self.config.give_up };
        self.timers.forget = Some(now + wait);
    }

    pub(super) fn arm_retransmission(&mut self, now: Duration) {
        self.timers.retransmit = Some(now + self.rto.get());
        self.timers.unanswered_since.get_or_insert(now);
    }
}
