//! The grace period after a restart (RFC 8881 §8.4.2): the clients that may reclaim, and its end.

use std::collections::HashMap;
use std::sync::atomic::Ordering;
use std::time::Duration;

use crate::client::Protocol;
use crate::core::Core;
use crate::records::{ClientRecord, RecordKind};
use crate::{ClientId, Limits, RecordsError, State, StateError, StatusFlags};

/// A reclaim near the end extends the grace period by this much, up to twice its length (RFC 8881 §8.4.2.1 allows it).
/// So a client that began in time can finish.
const PROLONGED_BY: Duration = Duration::from_secs(2);

#[derive(Debug)]
pub(crate) struct GracePeriod {
    /// The end of the grace period; `None` once it is over.
    until: Option<Duration>,
    at_most_until: Duration,
    recorded: HashMap<(RecordKind, Box<[u8]>), Reclaimer>,
}

/// A client that was on record when the server started.
#[derive(Debug, Clone, Copy, Default)]
struct Reclaimer {
    progress: ReclaimProgress,
    /// The time of its last reclaim.
    reclaimed: Duration,
    /// The time of its first request for something new.
    wants_more: Option<Duration>,
    /// The time of its first other request after its last reclaim.
    goes_on: Option<Duration>,
}

/// The progress of a recorded client.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
enum ReclaimProgress {
    /// It may reclaim, and has not begun.
    #[default]
    Absent,
    /// It may reclaim, and has reclaimed something.
    Reclaiming,
    /// It has finished.
    Done,
    /// It may not reclaim, since some of its state was revoked without its knowledge (RFC 8881 §8.4.3).
    Revoked,
}

/// The clients that delay new opens and locks after a restart, and for how long.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GraceReport {
    /// The remaining time of the grace period, unless a reclaim extends it.
    pub ends_in: Duration,
    /// The number of clients that have not finished.
    pub waiting_for: usize,
    /// Some of these clients, by protocol and name.
    pub names: Vec<(RecordKind, Box<[u8]>)>,
}

impl Reclaimer {
    /// Whether the client has finished reclaiming. An NFSv4.1 client reports it (RFC 8881 §18.51). NFSv4.0 and the lock
    /// protocol have no such message: a client has finished once it reclaimed something and then paused. A shorter
    /// pause is enough if it requests something new or uses its state, since known clients do so only after their
    /// reclaims. An NFSv4.0 client that requests something new without reclaiming has nothing to reclaim. That does not
    /// hold for hosts of the lock protocol, which may not know of the restart yet.
    fn has_finished(&self, kind: RecordKind, now: Duration, limits: &Limits) -> bool {
        let pauses = match kind {
            RecordKind::V40 => &limits.reclaim_pauses,
            RecordKind::Nlm => &limits.nlm_reclaim_pauses,
            RecordKind::V41 => return matches!(self.progress, ReclaimProgress::Done | ReclaimProgress::Revoked),
        };
        let is_past = |since: Duration| since.max(self.reclaimed) + pauses.going_on <= now;
        let has_gone_on = || self.wants_more.into_iter().chain(self.goes_on).any(is_past);
        match self.progress {
            ReclaimProgress::Done | ReclaimProgress::Revoked => true,
            ReclaimProgress::Reclaiming => has_gone_on() || self.reclaimed + pauses.silent <= now,
            ReclaimProgress::Absent => kind == RecordKind::V40 && has_gone_on(),
        }
    }
}

impl GracePeriod {
    pub(crate) fn new(records: Vec<ClientRecord>, now: Duration, length: Duration) -> GracePeriod {
        let of = |record: ClientRecord| {
            let progress = if record.revoked { ReclaimProgress::Revoked } else { ReclaimProgress::Absent };
            ((record.kind, record.name), Reclaimer { progress, ..Reclaimer::default() })
        };
        let recorded: HashMap<_, _> = records.into_iter().map(of).collect();
        let until = (!recorded.is_empty()).then_some(now + length);
        GracePeriod { until, at_most_until: now + 2 * length, recorded }
    }

    pub(crate) fn is_over(&self) -> bool {
        self.until.is_none()
    }

    /// The clients that have not finished.
    fn unfinished<'a>(
        &'a self,
        now: Duration,
        limits: &'a Limits,
    ) -> impl Iterator<Item = &'a (RecordKind, Box<[u8]>)> {
        let unfinished = self.recorded.iter().filter(move |((kind, _), one)| !one.has_finished(*kind, now, limits));
        unfinished.map(|(key, _)| key)
    }

    /// The clients of a kind that may reclaim and have not begun.
    pub(crate) fn absent(&self, kind: RecordKind) -> impl Iterator<Item = &[u8]> {
        let is_absent = move |((of, _), one): &(&(RecordKind, Box<[u8]>), &Reclaimer)| {
            *of == kind && one.progress == ReclaimProgress::Absent
        };
        self.recorded.iter().filter(is_absent).map(|((_, name), _)| &**name)
    }

    /// Whether a client may reclaim and has not begun.
    pub(crate) fn is_absent(&self, kind: RecordKind, name: &[u8]) -> bool {
        self.progress(kind, name) == Some(ReclaimProgress::Absent)
    }

    /// Records that a client has nothing left to reclaim.
    pub(crate) fn forget(&mut self, kind: RecordKind, name: &[u8]) {
        self.set(kind, name, ReclaimProgress::Done);
    }

    /// Records that a client may no longer reclaim.
    pub(crate) fn revoke(&mut self, kind: RecordKind, name: &[u8]) {
        self.set(kind, name, ReclaimProgress::Revoked);
    }

    /// Records that a client requested something new.
    fn wants_more(&mut self, now: Duration, kind: RecordKind, name: &[u8]) {
        if let Some(one) = self.recorded.get_mut(&(kind, name.into())) {
            one.wants_more.get_or_insert(now);
        }
    }

    /// Records that a client that has begun to reclaim uses its state.
    fn goes_on(&mut self, now: Duration, kind: RecordKind, name: &[u8]) {
        if let Some(one) =
            self.recorded.get_mut(&(kind, name.into())).filter(|one| one.progress == ReclaimProgress::Reclaiming)
        {
            one.goes_on.get_or_insert(now);
        }
    }

    fn progress(&self, kind: RecordKind, name: &[u8]) -> Option<ReclaimProgress> {
        self.recorded.get(&(kind, name.into())).map(|one| one.progress)
    }

    fn set(&mut self, kind: RecordKind, name: &[u8], progress: ReclaimProgress) {
        if let Some(one) = self.recorded.get_mut(&(kind, name.into())) {
            one.progress = progress;
        }
    }
}

impl State {
    /// Whether reclaims are accepted and new grants refused.
    pub fn in_grace(&self, now: Duration) -> bool {
        self.shared.grace.load(Ordering::Acquire) && self.core().in_grace(now)
    }

    /// The clients that delay new opens and locks, at most `most` of them by name; `None` outside of the grace period.
    pub fn grace_report(&self, now: Duration, most: usize) -> Option<GraceReport> {
        if !self.in_grace(now) {
            return None;
        }
        let core = self.core();
        let (ends_in, limits) = (core.grace.until?.saturating_sub(now), core.limits());
        let names = core.grace.unfinished(now, limits).take(most).cloned().collect();
        Some(GraceReport { ends_in, waiting_for: core.grace.unfinished(now, limits).count(), names })
    }

    /// Ends the grace period for an administrator: clients that have not reclaimed their state lose it. Returns whether
    /// the grace period was active.
    ///
    /// # Errors
    /// When the store cannot remove the records of these clients; the grace period continues.
    pub fn end_grace(&self) -> Result<bool, RecordsError> {
        let mut core = self.core();
        if core.grace.is_over() {
            return Ok(false);
        }
        core.end_grace().map(|()| true)
    }

    /// RECLAIM_COMPLETE (RFC 8881 §18.51). `one_fs` refers to a migrated file system, which this server never has.
    ///
    /// # Errors
    /// [`StateError::CompleteAlready`], or `StaleClientid`.
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
    /// Whether the grace period is active; ends it when its time is over or all clients have finished.
    pub(crate) fn in_grace(&mut self, now: Duration) -> bool {
        let Some(until) = self.grace.until else { return false };
        if now < until && self.grace.unfinished(now, &self.shared.limits).next().is_some() {
            return true;
        }
        // Nothing may be granted until the store has removed the records of absent clients (RFC 8881 §8.4.3).
        self.end_grace().is_err()
    }

    /// Removes the records of clients that reclaimed nothing, since others may get their locks now.
    fn end_grace(&mut self) -> Result<(), RecordsError> {
        let gone = self.grace.recorded.iter().filter(|((kind, name), _)| !self.is_recorded_now(*kind, name));
        let record = |((kind, name), one): (&(RecordKind, Box<[u8]>), &Reclaimer)| ClientRecord {
            kind: *kind,
            name: name.clone(),
            revoked: one.progress == ReclaimProgress::Revoked,
        };
        let gone: Vec<ClientRecord> = gone.map(record).collect();
        self.strike_off_record(&gone)?;
        self.grace.until = None;
        self.grace.recorded = HashMap::new();
        self.shared.grace.store(false, Ordering::Release);
        self.shared.pool.end_reclaims();
        for client in self.clients.values() {
            client.lease.set_flag(StatusFlags::RESTART_RECLAIM_NEEDED, false);
        }
        Ok(())
    }

    /// Whether the record belongs to a client of this boot.
    fn is_recorded_now(&self, kind: RecordKind, name: &[u8]) -> bool {
        let names = match kind {
            RecordKind::V40 => &self.names40,
            RecordKind::V41 => &self.names41,
            RecordKind::Nlm => return self.nlm.is_recorded(name),
        };
        let confirmed = names.get(name).and_then(|names| names.confirmed);
        confirmed.and_then(|id| self.client(id).ok()).is_some_and(|client| client.record.is_kept())
    }

    /// Fails unless a grant is possible now: a permitted reclaim in the grace period, anything else after it.
    pub(crate) fn check_grace(&mut self, now: Duration, id: ClientId, reclaim: bool) -> Result<(), StateError> {
        let in_grace = self.in_grace(now);
        let client = self.client(id)?;
        let is_v41 = !client.is_v40();
        if !reclaim {
            // NFSv4.1 clients send RECLAIM_COMPLETE even with nothing to reclaim (RFC 8881 §18.51.3).
            let must_wait = in_grace || is_v41 && !client.reclaim_complete;
            if in_grace {
                let (kind, name) = (client.record_kind(), client.name.clone());
                self.grace.wants_more(now, kind, &name);
            }
            return if must_wait { Err(StateError::Grace) } else { Ok(()) };
        }
        if !in_grace || is_v41 && client.reclaim_complete {
            return Err(StateError::NoGrace);
        }
        let (kind, name) = (client.record_kind(), client.name.clone());
        self.check_reclaim(now, kind, &name)
    }

    /// Fails unless a recorded client may reclaim; records that it does.
    pub(crate) fn check_reclaim(&mut self, now: Duration, kind: RecordKind, name: &[u8]) -> Result<(), StateError> {
        match self.grace.recorded.get_mut(&(kind, name.into())) {
            Some(one) if matches!(one.progress, ReclaimProgress::Absent | ReclaimProgress::Reclaiming) => {
                *one = Reclaimer { progress: ReclaimProgress::Reclaiming, reclaimed: now, goes_on: None, ..*one };
            }
            _ => return Err(StateError::ReclaimBad),
        }
        let at_most = self.grace.at_most_until;
        self.grace.until = self.grace.until.map(|until| until.max((now + PROLONGED_BY).min(at_most)));
        Ok(())
    }

    /// Records that a client uses its state; an NFSv4.0 client does so only after all of its reclaims.
    pub(crate) fn goes_on(&mut self, now: Duration, number: u32) {
        if let Some(client) = self.clients.get(&number).filter(|_| !self.grace.is_over()) {
            self.grace.goes_on(now, client.record_kind(), &client.name);
        }
    }

    fn reclaim_complete(&mut self, now: Duration, id: ClientId) -> Result<(), StateError> {
        let client = self.client_mut(id)?;
        if client.reclaim_complete {
            return Err(StateError::CompleteAlready);
        }
        client.reclaim_complete = true;
        client.lease.set_flag(StatusFlags::RESTART_RECLAIM_NEEDED, false);
        let name = client.name.clone();
        self.grace.set(RecordKind::V41, &name, ReclaimProgress::Done);
        self.in_grace(now);
        Ok(())
    }

    /// [`Core::check_grace`] for the lock protocol: any recorded host may reclaim.
    pub(crate) fn check_nlm_grace(&mut self, now: Duration, host: &[u8], reclaim: bool) -> Result<(), StateError> {
        match (self.in_grace(now), reclaim) {
            (true, false) => {
                self.grace.wants_more(now, RecordKind::Nlm, host);
                Err(StateError::Grace)
            }
            (false, true) => Err(StateError::NoGrace),
            (false, false) => Ok(()),
            (true, true) => self.check_reclaim(now, RecordKind::Nlm, host),
        }
    }

    /// Tells a newly confirmed client whether it must reclaim.
    pub(crate) fn welcome(&mut self, now: Duration, id: ClientId) {
        let in_grace = self.in_grace(now);
        let Ok(client) = self.client(id) else { return };
        let may = self.grace.progress(client.record_kind(), &client.name);
        let needed = in_grace && matches!(may, Some(ReclaimProgress::Absent | ReclaimProgress::Reclaiming));
        if let Protocol::V41(_) = client.protocol {
            client.lease.set_flag(StatusFlags::RESTART_RECLAIM_NEEDED, needed);
        }
    }
}
