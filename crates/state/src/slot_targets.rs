//! Takes slots back from sessions while few are left, and returns them when there is room again (RFC 8881 §2.10.6.1).
//!
//! The target of a session leads, and its client follows: it learns the target with its next reply, at the latest when
//! it renews its lease, and stops to use higher slots. While slots or the memory for their replies are scarce, the
//! target of a session is an equal share of half of them, so that large sessions give to new ones.

use std::sync::Arc;

use crate::core::Core;
use crate::origin::{Sessions, reply_bytes};
use crate::session::{Session, SessionState};
use crate::sync::lock;
use crate::{ChannelAttributes, Origin};

/// Slots are scarce when more than this part of them, or of the memory for replies, is in use.
const SCARCE: (usize, usize) = (3, 4);

/// They are plentiful when no more than this part is in use.
const PLENTIFUL: (usize, usize) = (1, 2);

/// How many slots the sessions should have.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Supply {
    Scarce,
    /// Targets stay as they are.
    Enough,
    Plentiful,
}

impl Core {
    /// Sets the targets of the sessions of some clients, and counts the slots that earlier ones gave back.
    pub(crate) fn sweep_slots(&mut self) {
        if self.supply() == Supply::Plentiful && !self.has_reduced_sessions {
            return;
        }
        let from = self.slots_from;
        let some: Vec<u32> = self.clients.range(from..).take(self.limits().steps).map(|(number, _)| *number).collect();
        self.slots_from = some.last().filter(|_| some.len() == self.limits().steps).map_or(0, |last| last + 1);
        if from == 0 {
            self.has_reduced_sessions = false;
        }
        for number in some {
            self.adapt_sessions(number);
        }
    }

    fn supply(&self) -> Supply {
        let (all, limits) = (self.origins.all, self.limits());
        let over = |(part, of): (usize, usize)| {
            all.slots > limits.slots as usize / of * part || all.reply_bytes > limits.reply_cache_bytes / of * part
        };
        match (over(SCARCE), over(PLENTIFUL)) {
            (true, _) => Supply::Scarce,
            (_, true) => Supply::Enough,
            _ => Supply::Plentiful,
        }
    }

    fn adapt_sessions(&mut self, client: u32) {
        let Some(client) = self.clients.get(&client) else { return };
        let origin = client.account.origin;
        let sessions: Vec<Arc<Session>> = client
            .v41()
            .into_iter()
            .flat_map(|v41| &v41.sessions)
            .filter_map(|session| self.shared.sessions.get(session).ok())
            .collect();
        for session in sessions {
            self.adapt_session(origin, &session);
        }
    }

    fn adapt_session(&mut self, origin: Origin, session: &Session) {
        let inner = &mut *lock(&session.inner);
        if inner.dead {
            return;
        }
        match self.supply() {
            Supply::Scarce => inner.target = inner.target.min(self.fair_slots(&session.fore)),
            Supply::Enough => {}
            Supply::Plentiful => inner.grow_to(session.fore.max_requests),
        }
        self.count_slots(origin, session, inner);
        self.has_reduced_sessions |= inner.target < session.fore.max_requests;
    }

    /// The share of each session in half of the slots.
    fn fair_slots(&self, fore: &ChannelAttributes) -> u32 {
        let (limits, sessions) = (self.limits(), self.origins.all.count.max(1));
        let by_bytes = limits.reply_cache_bytes / reply_bytes(fore, limits);
        let fair = by_bytes.min(limits.slots as usize) / 2 / sessions;
        u32::try_from(fair).unwrap_or(u32::MAX).max(1)
    }

    fn count_slots(&mut self, origin: Origin, session: &Session, inner: &mut SessionState) {
        if inner.counted_slots != inner.slots.len() {
            let held = |slots| Sessions::of(slots, &session.fore, self.limits());
            let (before, after) = (held(inner.counted_slots), held(inner.slots.len()));
            self.origins.remove_session(origin, before);
            self.origins.add_session(origin, after);
            inner.counted_slots = inner.slots.len();
        }
    }
}

impl SessionState {
    fn grow_to(&mut self, slots: u32) {
        self.target = slots;
        while (self.slots.len() as u32) < slots {
            self.slots.push(Default::default());
        }
    }
}
