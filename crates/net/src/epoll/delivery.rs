//! Whether a peer has what was sent to it.

use std::os::fd::AsFd;
use std::time::Instant;

use rustix::event::{PollFd, PollFlags, Timespec, poll};

use super::Loop;
use crate::connection::{CloseReason, Connection};
use crate::{Delivery, Service, sys};

const NO_WAIT: Timespec = Timespec { tv_sec: 0, tv_nsec: 0 };

impl<S: Service + ?Sized> Loop<S> {
    /// What became of what was sent over a connection of this loop; a peer that sends something after `since` is there.
    pub(super) fn delivery(&mut self, number: u64, since: Instant) -> Delivery {
        let key = self.by_number.get(&number);
        key.and_then(|key| self.connections.get_mut(*key))
            .map_or(Delivery::Lost, |connection| connection.delivery(since))
    }
}

impl Connection {
    fn delivery(&self, since: Instant) -> Delivery {
        let Some(socket) = &self.socket else { return Delivery::Lost };
        let mut polled = [PollFd::new(socket, PollFlags::RDHUP)];
        if poll(&mut polled, Some(&NO_WAIT)).is_err() {
            return Delivery::Pending;
        }
        let state = polled[0].revents();
        if state.intersects(PollFlags::ERR | PollFlags::HUP) {
            return Delivery::Lost;
        }
        match (self.has_acknowledged_all(), state.contains(PollFlags::RDHUP)) {
            (true, _) => Delivery::Delivered,
            // Who has closed the connection takes nothing more.
            (false, true) => Delivery::Lost,
            (false, false) if self.last_received > since => Delivery::Delivered,
            (false, false) => Delivery::Pending,
        }
    }

    /// Whether every message is answered, and the peer has acknowledged every answer.
    fn has_acknowledged_all(&self) -> bool {
        let is_sent = self.calls.is_empty() && self.outbox.is_empty();
        let unacknowledged = |socket| sys::unacknowledged_bytes(socket).unwrap_or(usize::MAX);
        is_sent && self.socket.as_ref().is_some_and(|socket| unacknowledged(socket.as_fd()) == 0)
    }

    /// Whether a connection that is closed for this reason leaves a peer that has all answers.
    pub(super) fn is_delivered_at(&self, reason: &CloseReason) -> bool {
        matches!(reason, CloseReason::Peer | CloseReason::Idle) && self.has_acknowledged_all()
    }
}
