//! Timeouts and retransmission.

use std::task::Waker;
use std::time::{Duration, Instant};

use peer::Transport;

use super::clock::Clock;
use super::{Core, Failure, News};
use crate::statistics::nanoseconds;

/// What the driver must do after timeouts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Expired {
    /// Nothing.
    Nothing,
    /// Reconnect: the stream brings no replies.
    Reconnect,
}

impl Core {
    /// When to call [`Core::handle_timeout`], if nothing else happens.
    pub fn poll_timeout(&self) -> Option<Instant> {
        let is_needed = self.pending > 0 && self.earliest_ns < Clock::NEVER_NS;
        is_needed.then(|| self.clock.instant(self.earliest_ns))
    }

    /// Retransmits the calls that timed out, or fails those that were sent often enough.
    pub fn handle_timeout(&mut self, now: Instant, wakers: &mut Vec<Waker>) -> Expired {
        let now_ns = self.clock.ns(now);
        if self.earliest_ns > now_ns {
            return Expired::Nothing;
        }
        self.earliest_ns = Clock::NEVER_NS;
        let mut expired = false;
        for place in 0..self.slots.len() {
            if self.slots[place].is_pending() && self.slots[place].deadline_ns <= now_ns {
                expired |= self.expire(place, now_ns, wakers);
            }
            let slot = &self.slots[place];
            if slot.is_pending() {
                self.earliest_ns = self.earliest_ns.min(slot.deadline_ns);
            }
        }
        if expired {
            self.window.on_timeout();
        }
        match self.config.transport {
            Transport::Tcp if expired && self.is_connected => Expired::Reconnect,
            _ => Expired::Nothing,
        }
    }

    /// Handles a call that timed out, and returns whether it was in flight.
    fn expire(&mut self, place: usize, now_ns: u64, wakers: &mut Vec<Waker>) -> bool {
        let retry = self.config.retry;
        let slot = &mut self.slots[place];
        let (was_queued, xid) = (slot.is_queued, slot.xid);
        slot.call.expiries = slot.call.expiries.saturating_add(1);
        self.counters.timeouts += 1;
        if !retry.is_hard && slot.call.expiries > retry.retransmissions {
            let waited = Duration::from_nanos(now_ns.saturating_sub(slot.call.asked_ns));
            let failure = Failure::TimedOut { sends: slot.call.sends, waited };
            slot.is_queued = false;
            self.recorder.failed(&slot.call);
            wakers.extend(slot.finish(Err(failure)));
            self.leave_table(xid, was_queued);
            return !was_queued;
        }
        // One slow call is no silence while others get replies.
        let is_silence = retry.is_hard && slot.call.expiries > retry.retransmissions;
        if is_silence && !self.is_silent && slot.replies_before == self.counters.replies {
            (self.is_silent, self.news) = (true, Some(News::Silent));
        }
        slot.replies_before = self.counters.replies;
        slot.timeout = retry.next_timeout(self.config.transport, slot.timeout);
        slot.deadline_ns = now_ns.saturating_add(nanoseconds(slot.timeout));
        if !was_queued && self.config.transport == Transport::Udp {
            slot.is_queued = true;
            self.queue.push_back(xid);
            self.leave_flight();
        }
        !was_queued
    }
}
