//! Time-outs and retransmission.

use std::task::Waker;
use std::time::Instant;

use super::{Core, Failure, News, Transport};

/// What time-outs ask of the driver.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Expired {
    /// Nothing.
    Nothing,
    /// The stream brings no replies: connect anew.
    Reconnect,
}

impl Core {
    /// When [`Core::handle_timeout`] has something to do, if nothing else happens.
    pub fn poll_timeout(&self) -> Option<Instant> {
        if self.pending == 0 { None } else { self.earliest }
    }

    /// Sends calls again whose time is up, or ends them when they were sent often enough.
    pub fn handle_timeout(&mut self, now: Instant, wakers: &mut Vec<Waker>) -> Expired {
        if self.earliest.is_none_or(|earliest| earliest > now) {
            return Expired::Nothing;
        }
        self.earliest = None;
        let mut expired = false;
        for place in 0..self.slots.len() {
            if self.slots[place].is_pending() && self.slots[place].deadline <= now {
                expired |= self.expire(place, now, wakers);
            }
            let slot = &self.slots[place];
            if slot.is_pending() {
                self.earliest = Some(self.earliest.map_or(slot.deadline, |earliest| earliest.min(slot.deadline)));
            }
        }
        if expired {
            self.window.on_timeout();
        }
        match self.config.transport {
            Transport::Stream if expired && self.is_connected => Expired::Reconnect,
            _ => Expired::Nothing,
        }
    }

    /// Handles a call whose time is up, and says whether it was on its way.
    fn expire(&mut self, place: usize, now: Instant, wakers: &mut Vec<Waker>) -> bool {
        let retry = self.config.retry;
        let slot = &mut self.slots[place];
        let (was_queued, xid) = (slot.is_queued, slot.xid);
        slot.expiries = slot.expiries.saturating_add(1);
        self.counters.timeouts += 1;
        self.recorder.timed_out(&slot.label);
        if !retry.is_hard && slot.expiries > retry.retransmissions {
            let failure = Failure::TimedOut { sends: slot.sends, waited: now - slot.submitted };
            slot.is_queued = false;
            self.recorder.failed(&slot.label);
            wakers.extend(slot.finish(Err(failure)));
            self.leave_table(xid, was_queued);
            return !was_queued;
        }
        // One call that takes long is no silence while others are answered.
        let is_silence = retry.is_hard && slot.expiries > retry.retransmissions;
        if is_silence && !self.is_silent && slot.replies_before == self.counters.replies {
            (self.is_silent, self.news) = (true, Some(News::Silent));
        }
        slot.replies_before = self.counters.replies;
        slot.timeout = retry.next_timeout(self.config.transport, slot.timeout);
        slot.deadline = now + slot.timeout;
        if !was_queued && self.config.transport == Transport::Datagram {
            slot.is_queued = true;
            self.queue.push_back(xid);
            self.leave_flight();
        }
        !was_queued
    }
}
