//! Who is on record (RFC 8881 §8.4.2.1, RFC 7530 §9.6.3.4): a client, or a host of the lock protocol, from before it is granted
//! the first thing that it may reclaim until some time after it has given back the last one. A restart waits for nobody else.
//!
//! A change of the store costs a write to stable storage. Who holds nothing goes off the record at the next tick, but who
//! comes back stays there for a while, each time for twice as long as before.
//!
//! A store that cannot be written, as on a full disk, keeps nobody from working. What fails there is one of these:
//!
//! - A client is put on record. It is granted what it wants; if the server restarts before the store has recovered, it may not
//!   reclaim, which harms nobody else.
//! - A client goes off the record and holds nothing. It stays there, and a restart waits for it.
//! - What a client held goes to others. It must not reclaim that after a restart (RFC 8881 §8.4.3): all records go, which takes no
//!   space ([`ClientRecords::give_up`](crate::ClientRecords::give_up)), and are written again when there is space.

use std::time::Duration;

use crate::client::Client;
use crate::core::Core;
use crate::records::{ClientRecord, RecordKind};
use crate::stateid_table::Standing;
use crate::{ClientId, Limits, RecordsError, StateError};

/// How many times the time on record without holding anything is doubled.
const MOST_DOUBLINGS: u32 = 5;
/// How many closed states of a client are looked at for one that it may reclaim.
const MOST_CLOSED: usize = 64;

/// Whether a client is on record.
#[derive(Debug, Default)]
pub(crate) struct Recording {
    is_kept: bool,
    /// Since when it has held nothing, and what it had done by then.
    idle: Option<(Duration, u64)>,
    /// How often it went off the record.
    releases: u32,
}

impl Recording {
    pub(crate) fn is_kept(&self) -> bool {
        self.is_kept
    }

    pub(crate) fn keep(&mut self) {
        self.is_kept = true;
    }

    pub(crate) fn release(&mut self) {
        *self = Recording { is_kept: false, idle: None, releases: self.releases.saturating_add(1) };
    }

    /// Whether it goes off the record now. `done` is another number whenever the client has got something since.
    fn is_over(&mut self, now: Duration, holds: bool, done: u64, limits: &Limits) -> bool {
        if holds || !self.is_kept {
            self.idle = None;
            return false;
        }
        let patience = limits.record_idle * ((1 << self.releases.min(MOST_DOUBLINGS)) - 1);
        let since = match self.idle {
            Some((since, before)) if before == done => since,
            _ => now,
        };
        self.idle = Some((since, done));
        since + patience <= now
    }
}

impl Core {
    /// Makes sure that a client is on record before it is granted anything.
    pub(crate) fn ensure_recorded(&mut self, id: ClientId, reclaim: bool) -> Result<(), StateError> {
        let client = self.client_mut(id)?;
        if client.record.is_kept() {
            return Ok(());
        }
        client.record.keep();
        let (kind, name) = (client.record_kind(), client.name.clone());
        // What is reclaimed is on record already.
        if !reclaim {
            self.put_on_record(&ClientRecord { kind, name: (*name).into(), revoked: false });
        }
        Ok(())
    }

    /// Puts a host of the lock protocol on record before it holds anything; a reclaiming one is there already.
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

    /// Takes clients off the record that hold nothing.
    pub(crate) fn take_off_record(&mut self, gone: &[(RecordKind, &[u8])]) {
        if !gone.is_empty() {
            self.is_store_behind |= self.records.remove(gone).is_err();
        }
    }

    /// Takes clients off the record whose state goes to others.
    ///
    /// # Errors
    /// When they may come back after a restart, and would reclaim what others have; they are still on record.
    pub(crate) fn strike_off_record(&mut self, gone: &[ClientRecord]) -> Result<(), RecordsError> {
        let names: Vec<(RecordKind, &[u8])> = gone.iter().map(|record| (record.kind, &*record.name)).collect();
        let struck = self.records.remove(&names);
        let struck = self.or_give_up(struck);
        if struck.is_err() {
            // What failed is not to be done later.
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

    /// Has the store try again to write what it could not.
    pub(crate) fn catch_up_store(&mut self) {
        self.is_store_behind = self.is_store_behind && self.records.remove(&[]).is_err();
    }

    /// Takes a client off the record before what it holds goes to others.
    ///
    /// # Errors
    /// As those of [`Core::strike_off_record`].
    pub(crate) fn forget_record(&mut self, id: ClientId) -> Result<(), StateError> {
        let Some((kind, name)) = self.record_of(id) else { return Ok(()) };
        let revoked = self.client(id)?.revoked != Default::default();
        self.strike_off_record(&[ClientRecord { kind, name: (*name).into(), revoked }])?;
        self.end_recording(id, kind, &name);
        Ok(())
    }

    /// Takes a client off the record that says itself that it holds nothing.
    pub(crate) fn release_record(&mut self, id: ClientId) {
        let Some((kind, name)) = self.record_of(id) else { return };
        self.take_off_record(&[(kind, &name)]);
        self.end_recording(id, kind, &name);
    }

    fn record_of(&self, id: ClientId) -> Option<(RecordKind, std::sync::Arc<[u8]>)> {
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
        // A client that has given back one thing may reclaim another.
        if !self.grace.is_over() {
            return;
        }
        let idle: Vec<u32> = clients.iter().copied().filter(|number| self.is_record_over(now, *number)).collect();
        let of = |number: &u32| self.clients.get(number).map(|client| (client.record_kind(), client.name.clone()));
        let names: Vec<_> = idle.iter().filter_map(of).collect();
        let names: Vec<(RecordKind, &[u8])> = names.iter().map(|(kind, name)| (*kind, &**name)).collect();
        self.take_off_record(&names);
        for number in idle {
            self.clients.entry(number).and_modify(|client| client.record.release());
        }
    }

    fn is_record_over(&mut self, now: Duration, number: u32) -> bool {
        let is_kept = |client: &Client| client.record.is_kept();
        if !self.clients.get(&number).is_some_and(is_kept) {
            return false;
        }
        let holds = self.may_reclaim(number);
        let Some(client) = self.clients.get_mut(&number) else { return false };
        client.record.is_over(now, holds, client.last_state.into(), &self.shared.limits)
    }

    /// Whether a client holds anything, or lost something that it does not know of. It is taken to when it has very many states of
    /// NFSv4.0 that are closed.
    fn may_reclaim(&self, number: u32) -> bool {
        let is_closed = |held: &crate::file::Held| held.standing == Standing::Closed;
        self.states_of(number).take(MOST_CLOSED).filter(|(_, held)| is_closed(held)).count()
            < self.states_of(number).take(MOST_CLOSED + 1).count()
    }

    /// Takes hosts of the lock protocol off the record that have held nothing for a while.
    pub(crate) fn sweep_nlm_records(&mut self, now: Duration) {
        if !self.grace.is_over() {
            return;
        }
        let (owners, limits) = (&self.owners, &self.shared.limits);
        let holds = |number| owners.first_of(true, number).is_some();
        let idle = self.nlm.take_idle_records(|record, number, used| {
            record.is_over(now, holds(number), used.as_nanos() as u64, limits)
        });
        let names: Vec<(RecordKind, &[u8])> = idle.iter().map(|host| (RecordKind::Nlm, &**host)).collect();
        self.take_off_record(&names);
    }

    /// Marks the record of a client before the first of its states is revoked: after a restart, it might reclaim what others
    /// have had meanwhile (RFC 8881 §8.4.3).
    pub(crate) fn mark_record(&mut self, number: u32) -> Result<(), StateError> {
        let Some(client) = self.clients.get(&number) else { return Ok(()) };
        if client.record.is_kept() && client.revoked == Default::default() {
            let (kind, name) = (client.record_kind(), client.name.clone());
            let marked = self.records.mark(kind, &name, true);
            self.or_give_up(marked).inspect_err(|_| {
                // What failed is not to be done later.
                let _ = self.records.mark(kind, &name, false);
            })?;
            self.grace.revoke(kind, &name);
        }
        Ok(())
    }

    /// Counts a state that was revoked.
    pub(crate) fn note_revoked(&mut self, number: u32, why: Standing) {
        let Some(client) = self.clients.get_mut(&number) else { return };
        match why {
            Standing::Expired => client.revoked.expired += 1,
            Standing::AdminRevoked => client.revoked.admin += 1,
            Standing::DelegRevoked => client.revoked.recallable += 1,
            _ => return,
        }
        self.publish_revoked(number);
    }

    /// Counts a revoked state that the client has acknowledged. When it knows of all, it may reclaim the rest.
    pub(crate) fn forget_revoked(&mut self, number: u32, why: Standing) {
        let Some(client) = self.clients.get_mut(&number) else { return };
        match why {
            Standing::Expired => client.revoked.expired -= 1,
            Standing::AdminRevoked => client.revoked.admin -= 1,
            Standing::DelegRevoked => client.revoked.recallable -= 1,
            _ => return,
        }
        if client.revoked == Default::default() && client.record.is_kept() {
            let (kind, name) = (client.record_kind(), client.name.clone());
            // The mark that stays refuses more than it must.
            let _ = self.records.mark(kind, &name, false);
        }
        self.publish_revoked(number);
    }

    fn publish_revoked(&self, number: u32) {
        let other_state = self.states_of(number).any(|(_, held)| held.standing.holds());
        if let Some(client) = self.clients.get(&number) {
            client.publish_revoked(other_state);
        }
    }
}
