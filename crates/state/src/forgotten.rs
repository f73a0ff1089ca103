//! Revoked delegations that their client no longer knows.
//!
//! While a client has revoked delegations, each of its SEQUENCE replies says so (RFC 8881 §18.46.3), and it tests its
//! delegations to find and free them (§18.48, §18.38). A client that has dropped one, perhaps because returning it
//! failed, never frees it: Linux then tests all others with every reply, for ever. So the server takes the client's
//! word. A delegation is forgotten that the client left out while it tested its others, or that it has not freed within
//! two leases although it sends requests.

use std::time::Duration;

use crate::State;
use crate::core::Core;
use crate::ids::StateKey;
use crate::lease::StatusFlags;
use crate::stateid_table::{Published, StateidStatus};

/// How many leases a client has to free what was revoked: it sends a request within each.
const LEASES_TO_FREE: u32 = 2;

impl Published {
    /// Whether its client has been told to look for revoked delegations.
    pub(crate) fn is_searched(&self) -> bool {
        self.lease.flags() & StatusFlags::RECALLABLE_STATE_REVOKED != 0
    }
}

impl State {
    /// Notes that a client tests a stateid while it looks for revoked delegations.
    pub(crate) fn note_tested(&self, now: Duration, key: StateKey) {
        self.core().note_tested(now, key);
    }
}

impl Core {
    /// When a client tests a stateid again, it has tested all that it knows.
    fn note_tested(&mut self, now: Duration, key: StateKey) {
        let Some(client) = self.clients.get_mut(&key.client()).filter(|client| client.revoked.recallable > 0) else {
            return;
        };
        if client.tested.insert(key) {
            return;
        }
        let tested = std::mem::take(&mut client.tested);
        self.forget_delegations(now, key.client(), |key| !tested.contains(&key));
        if let Some(client) = self.clients.get_mut(&key.client()).filter(|client| client.revoked.recallable > 0) {
            client.tested.insert(key);
        }
    }

    /// Forgets the revoked delegations of a client that had the time to free them.
    pub(crate) fn forget_unfreed(&mut self, now: Duration, number: u32) {
        let lease = self.limits().lease;
        let Some(client) = self.clients.get(&number).filter(|client| client.revoked.recallable > 0) else { return };
        if client.revoked_at + lease * LEASES_TO_FREE < now && !client.is_overdue(now, lease) {
            self.forget_delegations(now, number, |_| true);
        }
    }

    /// Removes revoked delegations, a limited number at once.
    fn forget_delegations(&mut self, now: Duration, number: u32, is_forgotten: impl Fn(StateKey) -> bool) {
        let revoked = self.states_of(number).filter(|(_, held)| held.status == StateidStatus::DelegRevoked);
        let forgotten = revoked.map(|(key, _)| key).filter(|key| is_forgotten(*key));
        let forgotten: Vec<StateKey> = forgotten.take(self.limits().steps).collect();
        for key in forgotten {
            self.remove_state(now, key);
        }
    }
}
