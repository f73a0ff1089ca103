//! Whether a peer has what was sent to it.

use std::time::Instant;

use super::Loop;
use crate::channel::PeerState;
use crate::close_reason::CloseReason;
use crate::connection::Connection;
use crate::{Delivery, Service};

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
        let Some(channel) = &self.channel else { return Delivery::Lost };
        match channel.peer_state() {
            PeerState::Unknown => Delivery::Pending,
            PeerState::Gone => Delivery::Lost,
            PeerState::Open | PeerState::Ended if self.has_acknowledged_all() => Delivery::Delivered,
            // Who has closed the connection takes nothing more.
            PeerState::Ended => Delivery::Lost,
            PeerState::Open if self.last_received > since => Delivery::Delivered,
            PeerState::Open => Delivery::Pending,
        }
    }

    /// Whether every message is answered, and the peer has acknowledged every answer.
    fn has_acknowledged_all(&self) -> bool {
        let is_sent = self.calls.is_empty() && self.outbox.is_empty();
        is_sent && self.channel.as_ref().is_some_and(|channel| matches!(channel.unacknowledged_bytes(), Ok(0)))
    }

    /// Whether a connection that is closed for this reason leaves a peer that has all answers.
    pub(super) fn is_delivered_at(&self, reason: &CloseReason) -> bool {
        matches!(reason, CloseReason::Peer | CloseReason::Idle) && self.has_acknowledged_all()
    }
}
