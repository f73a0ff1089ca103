//! The grace period after a restart (RFC 8881 §8.4.2): who may reclaim, and when it is over.

use std::collections::HashMap;
use std::sync::atomic::Ordering;
use std::time::Duration;

use crate::client::Protocol;
use crate::core::Core;
use crate::records::{ClientRecord, RecordKind};
use crate::stateid_table::Standing;
use crate::{ClientId, RecordsError, State, StateError, StatusFlags};

/// A reclaim in the last moments prolongs the grace period by this much, up to twice its length
/// (RFC 8881 §8.4.2.1 allows it), so that a client that began in time is not cut off.
const PROLONGED_BY: Duration = Duration::from_secs(2);

#[derive(Debug)]
pub(crate) struct GracePeriod {
    /// When it is over; `None` once it is.
    until: Option<Duration>,
    at_most_until: Duration,
    recorded: HashMap<(RecordKind, Box<[u8]>), Recorded>,
}

/// How far a recorded client is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Recorded {
    /// It may reclaim, and nothing was heard of it.
    Absent,
    /// It may reclaim, and has reclaimed something.
    Reclaiming,
    /// It said that it is done.
    Done,
    /// Some of its state was revoked while it did not hear: it may not reclaim (RFC 8881 §8.4.3).
    Revoked,
}

impl GracePeriod {
    pub(crate) fn new(records: Vec<ClientRecord>, now: Duration, length: Duration) -> GracePeriod {
        let of = |record: ClientRecord| {
            let standing = if record.revoked { Recorded::Revoked } else { Recorded::Absent };
            ((record.kind, record.name), standing)
        };
        let recorded: HashMap<_, _> = records.into_iter().map(of).collect();
        let until = (!recorded.is_empty()).then_some(now + length);
        GracePeriod { until, at_most_until: now + 2 * length, recorded }
    }

    pub(crate) fn is_over(&self) -> bool {
        self.until.is_none()
    }

    /// Whether everybody who may reclaim has finished. Clients of NFSv4.0 and of the lock protocol cannot say so.
    fn is_complete(&self) -> bool {
        self.recorded.values().all(|standing| matches!(standing, Recorded::Done | Recorded::Revoked))
    }

    /// The clients of a kind that may reclaim and were not heard of.
    pub(crate) fn absent(&self, kind: RecordKind) -> impl Iterator<Item = &[u8]> {
        let is_absent = move |((of, _), standing): &(&(RecordKind, Box<[u8]>), &Recorded)| {
            *of == kind && **standing == Recorded::Absent
        };
        self.recorded.iter().filter(is_absent).map(|((_, name), _)| &**name)
    }

    /// Whether a client may reclaim and was not heard of.
    pub(crate) fn is_absent(&self, kind: RecordKind, name: &[u8]) -> bool {
        self.get(kind, name) == Some(Recorded::Absent)
    }

    /// Notes that a client has nothing to reclaim any more.
    pub(crate) fn forget(&mut self, kind: RecordKind, name: &[u8]) {
        self.set(kind, name, Recorded::Done);
    }

    fn get(&self, kind: RecordKind, name: &[u8]) -> Option<Recorded> {
        self.recorded.get(&(kind, name.into())).copied()
    }

    fn set(&mut self, kind: RecordKind, name: &[u8], standing: Recorded) {
        if let Some(recorded) = self.recorded.get_mut(&(kind, name.into())) {
            *recorded = standing;
        }
    }
}

impl State {
    /// Whether reclaims are taken and new grants refused.
    pub fn in_grace(&self, now: Duration) -> bool {
        self.shared.grace.load(Ordering::Acquire) && self.core().in_grace(now)
    }

    /// RECLAIM_COMPLETE (RFC 8881 §18.51). With `one_fs` it is about one migrated file system, of which there are none
    /// here.
    ///
    /// # Errors
    /// [`StateError::CompleteAlready`], `StaleClientid`, or `Records`.
    pub fn reclaim_complete(&self, now: Duration, client: ClientId, one_fs: bool) -> Result<(), StateError> {
        let mut core = self.core();
        core.live_client(now, client)?;
        if one_fs {
            return Ok(());
        }
        core.reclaim_complete(now, client)
    }
}

impl Core {
    /// Whether the grace period lasts; ends it when its time is over or everybody has reclaimed.
    pub(crate) fn in_grace(&mut self, now: Duration) -> bool {
        let Some(until) = self.grace.until else { return false };
        if now < until && !self.grace.is_complete() {
            return true;
        }
        // Until the store has forgotten who did not come back, nothing may be granted (RFC 8881 §8.4.3).
        self.end_grace().is_err()
    }

    /// Forgets the records of clients that did not come back: what they had may now be given to others.
    fn end_grace(&mut self) -> Result<(), RecordsError> {
        let gone =
            self.grace.recorded.iter().filter(|(_, standing)| matches!(standing, Recorded::Absent | Recorded::Revoked));
        let gone: Vec<(RecordKind, &[u8])> = gone
            .map(|((kind, name), _)| (*kind, &**name))
            .filter(|(kind, name)| !self.is_recorded_now(*kind, name))
            .collect();
        self.records.remove(&gone)?;
        self.grace.until = None;
        self.grace.recorded = HashMap::new();
        self.shared.grace.store(false, Ordering::Release);
        for client in self.clients.values() {
            client.lease.set_flag(StatusFlags::RESTART_RECLAIM_NEEDED, false);
        }
        Ok(())
    }

    /// Whether a client of this boot stands behind the record.
    fn is_recorded_now(&self, kind: RecordKind, name: &[u8]) -> bool {
        let names = match kind {
            RecordKind::V40 => &self.names40,
            RecordKind::V41 => &self.names41,
            RecordKind::Nlm => return self.nlm.is_recorded(name),
        };
        let confirmed = names.get(name).and_then(|names| names.confirmed);
        confirmed.and_then(|id| self.client(id).ok()).is_some_and(|client| client.recorded)
    }

    /// Whether a grant is possible now: a reclaim within the grace period and by those who may, anything else after it.
    pub(crate) fn check_grace(&mut self, now: Duration, id: ClientId, reclaim: bool) -> Result<(), StateError> {
        let in_grace = self.in_grace(now);
        let client = self.client(id)?;
        let is_v41 = !client.is_v40();
        if !reclaim {
            // NFSv4.1 clients say when they are done, even with nothing to reclaim (RFC 8881 §18.51.3).
            let must_wait = in_grace || is_v41 && !client.reclaim_complete;
            return if must_wait { Err(StateError::Grace) } else { Ok(()) };
        }
        if !in_grace || is_v41 && client.reclaim_complete {
            return Err(StateError::NoGrace);
        }
        let (kind, name) = (client.record_kind(), client.name.clone());
        self.check_reclaim(now, kind, &name)
    }

    /// Whether a recorded client may reclaim, and notes that it does.
    pub(crate) fn check_reclaim(&mut self, now: Duration, kind: RecordKind, name: &[u8]) -> Result<(), StateError> {
        match self.grace.get(kind, name) {
            None | Some(Recorded::Revoked | Recorded::Done) => return Err(StateError::ReclaimBad),
            Some(Recorded::Absent | Recorded::Reclaiming) => {}
        }
        self.grace.set(kind, name, Recorded::Reclaiming);
        let at_most = self.grace.at_most_until;
        self.grace.until = self.grace.until.map(|until| until.max((now + PROLONGED_BY).min(at_most)));
        Ok(())
    }

    fn reclaim_complete(&mut self, now: Duration, id: ClientId) -> Result<(), StateError> {
        let client = self.client(id)?;
        if client.reclaim_complete {
            return Err(StateError::CompleteAlready);
        }
        let record = ClientRecord { kind: RecordKind::V41, name: (*client.name).into(), revoked: false };
        self.records.add(&record)?;
        self.grace.set(RecordKind::V41, &record.name, Recorded::Done);
        let client = self.client_mut(id)?;
        client.reclaim_complete = true;
        client.recorded = true;
        client.lease.set_flag(StatusFlags::RESTART_RECLAIM_NEEDED, false);
        self.in_grace(now);
        Ok(())
    }

    /// Tells a client that was confirmed whether it has something to reclaim.
    pub(crate) fn welcome(&mut self, now: Duration, id: ClientId) {
        let in_grace = self.in_grace(now);
        let Ok(client) = self.client(id) else { return };
        let may = self.grace.get(client.record_kind(), &client.name);
        let needed = in_grace && matches!(may, Some(Recorded::Absent | Recorded::Reclaiming));
        if let Protocol::V41(_) = client.protocol {
            client.lease.set_flag(StatusFlags::RESTART_RECLAIM_NEEDED, needed);
        }
    }

    /// Makes sure that a client is in the record before it is granted anything.
    pub(crate) fn ensure_recorded(&mut self, id: ClientId, reclaim: bool) -> Result<(), StateError> {
        let client = self.client(id)?;
        if client.recorded {
            return Ok(());
        }
        // What is reclaimed is in the record already.
        if !reclaim {
            let record = ClientRecord { kind: client.record_kind(), name: (*client.name).into(), revoked: false };
            self.records.add(&record)?;
        }
        self.client_mut(id)?.recorded = true;
        Ok(())
    }

    /// Takes a client out of the record: it has nothing to reclaim any more.
    pub(crate) fn forget_record(&mut self, id: ClientId) -> Result<(), StateError> {
        let client = self.client(id)?;
        if !client.confirmed || !client.recorded {
            return Ok(());
        }
        let (kind, name) = (client.record_kind(), client.name.clone());
        self.records.remove(&[(kind, &name)])?;
        self.grace.set(kind, &name, Recorded::Done);
        self.client_mut(id)?.recorded = false;
        Ok(())
    }

    /// Marks the record of a client before the first of its states is revoked: after a restart, it might reclaim what others
    /// have had meanwhile (RFC 8881 §8.4.3).
    pub(crate) fn mark_record(&mut self, number: u32) -> Result<(), StateError> {
        let Some(client) = self.clients.get(&number) else { return Ok(()) };
        if client.recorded && client.revoked == Default::default() {
            let (kind, name) = (client.record_kind(), client.name.clone());
            self.records.mark(kind, &name, true)?;
            self.grace.set(kind, &name, Recorded::Revoked);
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
        if client.revoked == Default::default() && client.recorded {
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
