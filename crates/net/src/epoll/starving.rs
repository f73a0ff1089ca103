//! Connections that wait for their client to have room, and those that are closed to make room.

use std::time::{Duration, Instant};

use super::Loop;
use crate::Service;
use crate::budget::{ClientBudget, ManyConnections};
use crate::close_reason::CloseReason;
use crate::complaints::Complaint;
use crate::connection::{Connection, Ready};
use crate::mailbox::LoopMessage;
use crate::slab::SlabKey;

/// How often it is looked whether there is room again. Other loops and blocking threads make room too, and do not say
/// so.
const LOOK_INTERVAL: Duration = Duration::from_millis(10);

/// How many connections make room for new ones at a time.
const EVICTION_BATCH: usize = 32;

/// How long a connection must have been silent to be closed for others.
const EVICTION_SILENCE: Duration = Duration::from_millis(500);

/// The connections that wait, and when they are looked after.
#[derive(Default)]
pub(super) struct Starving {
    keys: Vec<SlabKey>,
    next_look: Option<Instant>,
}

impl Starving {
    /// When the connections are to be looked after, if there are some.
    pub(super) fn next_look(&self) -> Option<Instant> {
        self.next_look
    }
}

impl<S: Service + ?Sized> Loop<S> {
    /// Lets a connection that its client has no room for wait until there is some.
    pub(super) fn starve(&mut self, key: SlabKey) {
        let Some(connection) = self.connections.get_mut(key) else { return };
        if connection.is_starving || !connection.is_held_up(&self.context.engine.hub.limits) {
            return;
        }
        connection.is_starving = true;
        let client = connection.peer.address.ip();
        self.starving.keys.push(key);
        self.starving.next_look.get_or_insert(self.context.now + LOOK_INTERVAL);
        if self.context.engine.hub.complaints.is_new(client, Complaint::Memory, self.context.now) {
            tracing::warn!(
                %client,
                "the client takes up as much memory as it may: it is served in small steps until it takes its replies and finishes its calls"
            );
        }
    }

    /// Gives turns to connections that waited for room and have it.
    pub(super) fn feed(&mut self, now: Instant) {
        if self.starving.next_look.is_none_or(|time| time > now) {
            return;
        }
        let mut keys = std::mem::take(&mut self.starving.keys);
        keys.retain(|&key| self.is_still_starving(key));
        // Turns that were just planned are known only after this look, so that nobody has starved again.
        self.starving.next_look = (!keys.is_empty()).then(|| now + LOOK_INTERVAL);
        self.starving.keys = keys;
    }

    fn is_still_starving(&mut self, key: SlabKey) -> bool {
        let Some(connection) = self.connections.get_mut(key) else { return false };
        if connection.channel.is_some() && !connection.account.has_room() {
            return true;
        }
        connection.is_starving = false;
        self.enqueue(key, Ready::default());
        false
    }

    /// Closes silent connections here, and asks the other loops to do so: those of clients without exports, or else
    /// those of clients with more than `many`.
    pub(super) fn make_room_everywhere(&mut self, many: ManyConnections) {
        self.make_room(many);
        let hub = &self.context.engine.hub;
        let others = hub.loops.iter().enumerate().filter(|(index, _)| *index != self.context.loop_index);
        others.for_each(|(_, shared)| shared.mailbox.post(LoopMessage::MakeRoom(many)));
    }

    /// Closes the connections that have been silent for longest, of clients without exports or else of those with more
    /// than `many`.
    pub(super) fn make_room(&mut self, many: ManyConnections) {
        let evicted = self.evict(|client| client.is_stranger);
        if let (0, Some(many)) = (evicted, many) {
            self.evict(|client| client.has_more_than(many));
        }
    }

    /// Closes some of the connections that have been silent for longest, of clients that may lose some; tells how many.
    fn evict(&mut self, may_lose: impl Fn(&ClientBudget) -> bool) -> usize {
        let now = self.context.now;
        let mut silent = Vec::new();
        for index in 0..self.connections.end() {
            let Some(key) = self.connections.key_at(index) else { continue };
            let found = self.connections.get_mut(key).filter(|connection| is_silent(connection, now));
            let found = found.filter(|connection| may_lose(connection.account.client()));
            silent.extend(found.map(|connection| (connection.last_active, key)));
        }
        let count = silent.len().min(EVICTION_BATCH);
        if count < silent.len() {
            silent.select_nth_unstable_by_key(count, |(last_active, _)| *last_active);
        }
        silent.truncate(count);
        for (_, key) in silent {
            // With each one that is closed, its client has one less.
            let connection = self.connections.get_mut(key);
            if connection.is_some_and(|connection| may_lose(connection.account.client())) {
                self.close(key, CloseReason::Evicted);
            }
        }
        count
    }
}

fn is_silent(connection: &Connection, now: Instant) -> bool {
    connection.channel.is_some()
        && connection.calls.is_empty()
        && now.saturating_duration_since(connection.last_active) >= EVICTION_SILENCE
}
