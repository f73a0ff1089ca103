//! Client records for restarts (RFC 8881 §8.4.2.1, RFC 7530 §9.6.3.4). A client or a host of the lock protocol is on
//! record from before its first reclaimable grant until some time after it released the last one. A restart waits for
//! no others.
//!
//! A change of the store costs a write to stable storage. A client without state goes off the record at the next tick,
//! but a client that returns stays longer, each time about twice as long. A clean stop takes all of them off.
//!
//! A store that cannot be written, as on a full disk, does not stop clients. One of these writes fails:
//!
//! - A client is put on record. It is granted its request. If the server restarts before the store has recovered, the
//!   client may not reclaim, which harms no other client.
//! - A client without state goes off the record. It stays there, and a restart waits for it.
//! - A client's state goes to others, so it must not reclaim it after a restart (RFC 8881 §8.4.3). All records are
//!   dropped, which requires no space ([`ClientRecords::give_up`](crate::ClientRecords::give_up)), and rewritten when
//!   there is space.

use std::sync::Arc;
use std::time::Duration;

use crate::core::Core;
use crate::records::{ClientRecord, RecordKind, Recording};
use crate::stateid_table::StateidStatus;
use crate::{ClientId, RecordsError, State, StateError};

/// The most closed states of a client to check for one that it may reclaim.
const MOST_CLOSED: usize = 64;

impl State {
    /// Takes all clients off the record that hold nothing. Called at a clean stop, since the next start waits for every
    /// client on record. In the grace period they stay: a client that released one thing may still reclaim another.
    pub fn release_records(&self, now: Duration) {
        let mut core = self.core();
        if core.in_grace(now) {
            return;
        }
        let on_record = core.clients.iter().filter(|(_, client)| client.record.is_kept());
        let mut idle: Vec<u32> = on_record.map(|(number, _)| *number).collect();
        idle.retain(|number| !core.may_reclaim(*number));
        core.release_clients(&idle);
        core.release_hosts(|_, holds, _| !holds);
    }
}

impl Core {
    /// Ensures that a client is on record before it is granted anything.
    pub(crate) fn ensure_recorded(&mut self, id: ClientId, reclaim: bool) -> Result<(), StateError> {
        let client = self.client_mut(id)?;
        if client.record.is_kept() {
            return Ok(());
        }
        client.record.keep();
        let (kind, name) = (client.record_kind(), client.name.clone());
        // A client that reclaims is already on record.
        if !reclaim {
            self.put_on_record(&ClientRecord { kind, name: (*name).into(), revoked: false });
        }
        Ok(())
    }

    /// Puts a host of the lock protocol on record before it holds anything; one that reclaims is already there.
    pub(crate) fn record_nlm_host(&mut self, host: &[u8], reclaim: bool) {
        let Some(record) = self.nlm.record_mut(host).filter(|record| !record.is_kept()) else { return };
        record.keep();
        if !reclaim {
            self.put_on_record(&ClientRecord { kind: RecordKind::Nlm, name: host.into(), revoked: false });
        }
    }

    fn put_on_record(&mut self, record: &ClientRecord) {
        self.is_store_behind |= self.records.add(record).is_err();
    }

    /// Takes clients without state off the record.
    pub(crate) fn take_off_record(&mut self, gone: &[(RecordKind, &[u8])]) {
        if !gone.is_empty() {
            self.is_store_behind |= self.records.remove(gone).is_err();
        }
    }

    /// Takes clients off the record whose state goes to others.
    ///
    /// # Errors
    /// When they may return after a restart and reclaim what others hold; they are still on record.
    pub(crate) fn strike_off_record(&mut self, gone: &[ClientRecord]) -> Result<(), RecordsError> {
        let names: Vec<(RecordKind, &[u8])> = gone.iter().map(|record| (record.kind, &*record.name)).collect();
        let struck = self.records.remove(&names);
        let struck = self.or_give_up(struck);
        if struck.is_err() {
            // The failed removal must not be repeated later.
            gone.iter().for_each(|record| self.put_on_record(record));
        }
        struck
    }

    fn or_give_up(&mut self, done: Result<(), RecordsError>) -> Result<(), RecordsError> {
        done.or_else(|_| {
            self.is_store_behind = true;
            self.records.give_up()
        })
    }

    /// Retries the writes that the store could not do.
    pub(crate) fn catch_up_store(&mut self) {
        self.is_store_behind = self.is_store_behind && self.records.remove(&[]).is_err();
    }

    /// Takes a client off the record before its state goes to others.
    ///
    /// # Errors
    /// As [`Core::strike_off_record`].
    pub(crate) fn forget_record(&mut self, id: ClientId) -> Result<(), StateError> {
        let Some((kind, name)) = self.record_of(id) else { return Ok(()) };
        let revoked = self.client(id)?.revoked != Default::default();
        self.strike_off_record(&[ClientRecord { kind, name: (*name).into(), revoked }])?;
        self.end_recording(id, kind, &name);
        Ok(())
    }

    /// Takes a client off the record that gave up its state itself.
    pub(crate) fn release_record(&mut self, id: ClientId) {
        let Some((kind, name)) = self.record_of(id) else { return };
        self.take_off_record(&[(kind, &name)]);
        self.end_recording(id, kind, &name);
    }

    fn record_of(&self, id: ClientId) -> Option<(RecordKind, Arc<[u8]>)> {
        let client = self.client(id).ok().filter(|client| client.record.is_kept())?;
        Some((client.record_kind(), client.name.clone()))
    }

    fn end_recording(&mut self, id: ClientId, kind: RecordKind, name: &[u8]) {
        self.grace.forget(kind, name);
        if let Ok(client) = self.client_mut(id) {
            client.record.release();
        }
    }

    /// Takes those of the clients off the record that have held nothing for a while.
    pub(crate) fn sweep_records(&mut self, now: Duration, clients: &[u32]) {
        // A client that released one thing may still reclaim another.
        if !self.grace.is_over() {
            return;
        }
        let idle: Vec<u32> = clients.iter().copied().filter(|number| self.is_record_over(now, *number)).collect();
        self.release_clients(&idle);
    }

    fn release_clients(&mut self, idle: &[u32]) {
        let of = |number: &u32| self.clients.get(number).map(|client| (client.record_kind(), client.name.clone()));
        let names: Vec<_> = idle.iter().filter_map(of).collect();
        let names: Vec<(RecordKind, &[u8])> = names.iter().map(|(kind, name)| (*kind, &**name)).collect();
        self.take_off_record(&names);
        for number in idle {
            self.clients.entry(*number).and_modify(|client| client.record.release());
        }
    }

    fn is_record_over(&mut self, now: Duration, number: u32) -> bool {
        if !self.clients.get(&number).is_some_and(|client| client.record.is_kept()) {
            return false;
        }
        let holds = self.may_reclaim(number);
        let Some(client) = self.clients.get_mut(&number) else { return false };
        client.record.is_over(now, holds, client.last_state.into(), &self.shared.limits)
    }

    /// Whether a client holds state, or has unacknowledged revoked state. A client with very many closed NFSv4.0 states
    /// counts as one that does.
    fn may_reclaim(&self, number: u32) -> bool {
        let is_closed = |held: &crate::file::StateidEntry| held.status == StateidStatus::Closed;
        self.states_of(number).take(MOST_CLOSED).filter(|(_, held)| is_closed(held)).count()
            < self.states_of(number).take(MOST_CLOSED + 1).count()
    }

    /// Takes hosts of the lock protocol off the record that have held nothing for a while.
    pub(crate) fn sweep_nlm_records(&mut self, now: Duration) {
        if !self.grace.is_over() {
            return;
        }
        let shared = Arc::clone(&self.shared);
        self.release_hosts(|record, holds, used| record.is_over(now, holds, used.as_nanos() as u64, &shared.limits));
    }

    /// Takes hosts of the lock protocol off the record; `is_over` gets their record, whether they hold anything, and
    /// the time of their last request.
    fn release_hosts(&mut self, is_over: impl Fn(&mut Recording, bool, Duration) -> bool) {
        let owners = &self.owners;
        let holds = |number| owners.first_of(true, number).is_some();
        let idle = self.nlm.take_idle_records(|record, number, used| is_over(record, holds(number), used));
        let names: Vec<(RecordKind, &[u8])> = idle.iter().map(|host| (RecordKind::Nlm, &**host)).collect();
        self.take_off_record(&names);
    }

    /// Marks a client's record before its first state is revoked. Otherwise it could reclaim after a restart what
    /// others held meanwhile (RFC 8881 §8.4.3).
    pub(crate) fn mark_record(&mut self, number: u32) -> Result<(), StateError> {
        let Some(client) = self.clients.get(&number) else { return Ok(()) };
        if client.record.is_kept() && client.revoked == Default::default() {
            let (kind, name) = (client.record_kind(), client.name.clone());
            let marked = self.records.mark(kind, &name, true);
            self.or_give_up(marked).inspect_err(|_| {
                // The failed mark must not be repeated later.
                let _ = self.records.mark(kind, &name, false);
            })?;
            self.grace.revoke(kind, &name);
        }
        Ok(())
    }

    /// Counts a revoked state.
    pub(crate) fn note_revoked(&mut self, now: Duration, number: u32, why: StateidStatus) {
        let Some(client) = self.clients.get_mut(&number) else { return };
        client.revoked_at = now;
        match why {
            StateidStatus::Expired => client.revoked.expired += 1,
            StateidStatus::AdminRevoked => client.revoked.admin += 1,
            StateidStatus::DelegRevoked => client.revoked.recallable += 1,
            _ => return,
        }
        self.publish_revoked(number);
    }

    /// Uncounts a revoked state that the client acknowledged. Once it acknowledged all, it may reclaim the rest.
    pub(crate) fn forget_revoked(&mut self, number: u32, why: StateidStatus) {
        let Some(client) = self.clients.get_mut(&number) else { return };
        match why {
            StateidStatus::Expired => client.revoked.expired -= 1,
            StateidStatus::AdminRevoked => client.revoked.admin -= 1,
            StateidStatus::DelegRevoked => client.revoked.recallable -= 1,
            _ => return,
        }
        if client.revoked.recallable == 0 {
            client.tested = Default::default();
        }
        if client.revoked == Default::default() && client.record.is_kept() {
            let (kind, name) = (client.record_kind(), client.name.clone());
            // If the mark stays, it refuses more than necessary, which is safe.
            let _ = self.records.mark(kind, &name, false);
        }
        self.publish_revoked(number);
    }

    fn publish_revoked(&self, number: u32) {
        let other_state = self.states_of(number).any(|(_, held)| held.status.holds());
        if let Some(client) = self.clients.get(&number) {
            client.publish_revoked(other_state);
        }
    }
}
