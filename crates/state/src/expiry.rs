//! The end of leases, and the gradual removal of state that is no longer needed.
//!
//! The server is courteous, as RFC 8881 §8.3 allows. A client whose lease ended keeps its state until another client
//! conflicts with it, until `Limits::courtesy` has passed, or until there are too many such clients. No call removes
//! more than `Limits::steps` states and locks on behalf of others, so that the end of a large client delays nobody.

use std::sync::Arc;
use std::time::Duration;

use crate::client::Protocol;
use crate::core::Core;
use crate::file::StateidEntry;
use crate::ids::StateKey;
use crate::range_tree::OwnerRange;
use crate::stateid_table::StateidStatus;
use crate::{ByteRange, ClientId, State, StateError, Stateid};

impl State {
    /// Does a bounded part of what is due by now: ends leases and the grace period, revokes delegations, wakes waiters,
    /// and removes the state of ended clients. Call it about every second, and again at once while it returns true.
    pub fn tick(&self, now: Duration) -> bool {
        let mut core = self.core();
        core.in_grace(now);
        core.revoke_late(now);
        core.sweep_clients(now);
        core.sweep_owners(now);
        core.sweep_slots();
        core.sweep_waiting(now);
        core.sweep_nlm_records(now);
        core.sweep_nlm_hosts(now);
        core.catch_up_store();
        core.host.close_all_unlocked();
        core.remove_ended(now)
    }

    /// Revokes a state on behalf of an administrator (RFC 8881 §8.6.2).
    ///
    /// # Errors
    /// [`StateError::BadStateid`] when there is no such state, `Records` when the client's record cannot be marked.
    pub fn revoke_by_administrator(&self, now: Duration, stateid: &Stateid) -> Result<(), StateError> {
        let mut core = self.core();
        let key = core.locate(stateid)?;
        match core.states.get(&key) {
            Some(held) if held.status.holds() => core.revoke(now, key, StateidStatus::AdminRevoked),
            _ => Err(StateError::BadStateid),
        }
    }
}

impl Core {
    /// Ends a client: its sessions and stateids fail at once, and its state is removed step by step.
    pub(crate) fn drop_client(&mut self, id: ClientId) {
        let Some(client) = self.clients.remove(&id.number()) else { return };
        client.lease.end();
        if let Protocol::V41(v41) = &client.protocol {
            for session in &v41.sessions {
                self.end_session(client.account.origin, session);
            }
        }
        self.origins.leave(client.account.origin, id.number());
        let names = if client.is_v40() { &mut self.names40 } else { &mut self.names41 };
        if let Some(entry) = names.get_mut(&client.name) {
            entry.confirmed = entry.confirmed.filter(|confirmed| *confirmed != id);
            entry.unconfirmed = entry.unconfirmed.filter(|unconfirmed| *unconfirmed != id);
            if *entry == Default::default() {
                names.remove(&client.name);
            }
        }
        self.removing.push_back(id.number());
    }

    /// Removes some of the state of ended clients and hosts; true while there is more.
    pub(crate) fn remove_ended(&mut self, now: Duration) -> bool {
        let mut steps = self.limits().steps;
        while steps > 0 {
            let done = match (self.removing_hosts.front(), self.removing.front()) {
                (Some(&host), _) => self.remove_some_of_host(now, host, steps),
                (None, Some(&client)) => self.remove_some_of_client(now, client, steps),
                (None, None) => return false,
            };
            steps = steps.saturating_sub(done);
        }
        !self.removing.is_empty() || !self.removing_hosts.is_empty()
    }

    fn remove_some_of_client(&mut self, now: Duration, client: u32, at_most: usize) -> usize {
        let state = self.states_of(client).next().map(|(key, _)| key);
        if let Some(key) = state {
            return self.remove_some(now, key, at_most);
        }
        match self.owners.first_of(false, client) {
            Some(owner) => drop(self.owners.remove(owner)),
            None => drop(self.removing.pop_front()),
        }
        1
    }

    fn remove_some_of_host(&mut self, now: Duration, host: u32, at_most: usize) -> usize {
        if let Some(owner) = self.owners.first_of(true, host) {
            return self.remove_some_of_nlm_owner(now, owner, at_most);
        }
        self.removing_hosts.pop_front();
        1
    }

    /// Removes a state, or some of what depends on it: the lock states of an open, the locks of a lock state. Returns
    /// the number of steps used.
    pub(crate) fn remove_some(&mut self, now: Duration, key: StateKey, at_most: usize) -> usize {
        let lock = self.states.get(&key).and_then(StateidEntry::open).and_then(|open| open.locks.first().copied());
        let key = lock.unwrap_or(key);
        let Some(held) = self.states.get(&key) else { return 1 };
        let (owner, file) = (held.owner, Arc::clone(&held.file));
        let locks = self.locks_of(&file).map(|locks| &locks.held).filter(|held| held.has_state(owner, key));
        let Some((count, range)) = locks.and_then(|held| held.first_of(owner, ByteRange::WHOLE, at_most)) else {
            self.remove_state(now, key);
            return 1;
        };
        self.release_range(now, &file, OwnerRange { owner, range });
        count
    }

    /// Checks the next clients, in a circle, for ended leases.
    fn sweep_clients(&mut self, now: Duration) {
        let steps = self.limits().steps;
        let batch: Vec<u32> = self.clients.range(self.sweep_from..).take(steps).map(|(number, _)| *number).collect();
        if batch.len() < steps {
            self.sweep_from = 0;
            self.courtesy_last_round = std::mem::take(&mut self.courtesy_this_round);
        } else if let Some(last) = batch.last() {
            self.sweep_from = last + 1;
        }
        self.sweep_records(now, &batch);
        for number in batch {
            self.sweep_client(now, number);
        }
    }

    fn sweep_client(&mut self, now: Duration, number: u32) {
        let limits = &self.shared.limits;
        let Some(client) = self.clients.get(&number) else { return };
        let length = if client.confirmed { limits.lease } else { limits.unconfirmed };
        let Some(since) = client.lease.overdue_since(now, length) else { return self.forget_unfreed(now, number) };
        let too_many = self.courtesy_last_round.max(self.courtesy_this_round) >= limits.courtesy_clients;
        let useless = !client.confirmed || !self.has_state(number);
        if useless || too_many || since + limits.courtesy < now {
            // If its record cannot be removed now, the client stays until the next round.
            let _ = self.expire(now, number, length);
            return;
        }
        self.courtesy_this_round += 1;
    }

    /// Ends a client whose lease is over, unless it was renewed just now.
    ///
    /// # Errors
    /// When its record cannot be removed; the client stays.
    pub(crate) fn expire(&mut self, now: Duration, number: u32, length: Duration) -> Result<(), StateError> {
        let Some(client) = self.clients.get(&number) else { return Ok(()) };
        let (id, lease) = (client.id, client.lease.clone());
        // The record is removed first, since others may get the client's locks from here on (RFC 8881 §8.4.3).
        if lease.overdue_since(now, length).is_none() {
            return Ok(());
        }
        self.forget_record(id)?;
        if lease.end_if_overdue(now, length) {
            self.drop_client(id);
        } else {
            // The client renewed its lease meanwhile, so it is recorded again.
            let _ = self.ensure_recorded(id, false);
        }
        Ok(())
    }
}
