//! Recalls delegations, and revokes those that are not returned (RFC 8881 §10.4.5, §10.4.6).

use std::collections::BTreeSet;
use std::hash::BuildHasher;
use std::time::Duration;

use foldhash::fast::RandomState;

use crate::core::Core;
use crate::file::StateidEntry;
use crate::ids::StateKey;
use crate::stateid_table::StateidStatus;
use crate::{
    AccessCheck, AccessKind, ClientId, DelegationKind, Event, FileKey, OpenArgs, Recall, Requester, ShareAccess,
    StateError,
};

/// The most files in one generation of [`Recent`].
const RECENT_MAX: usize = 65_536;

/// The pending recalls by deadline, and the files with recent recalls.
#[derive(Debug, Default)]
pub(crate) struct Recalls {
    deadlines: BTreeSet<(Duration, StateKey)>,
    of: foldhash::HashMap<StateKey, Duration>,
    recent: Recent,
}

/// Hashes of files in two generations, so that a file is remembered for one to two periods. A file with a colliding
/// hash is not delegated for a while.
#[derive(Debug, Default)]
struct Recent {
    hasher: RandomState,
    current: foldhash::HashSet<u64>,
    previous: foldhash::HashSet<u64>,
    since: Duration,
}

impl Recent {
    fn add(&mut self, file: &FileKey, now: Duration, memory: Duration) {
        if now >= self.since + memory || self.current.len() >= RECENT_MAX {
            let stale = now >= self.since + 2 * memory;
            self.previous = std::mem::take(&mut self.current);
            self.since = now;
            if stale {
                self.previous.clear();
            }
        }
        self.current.insert(self.hasher.hash_one(file));
    }

    fn has(&self, file: &FileKey, now: Duration, memory: Duration) -> bool {
        let hash = self.hasher.hash_one(file);
        now < self.since + 2 * memory && self.current.contains(&hash)
            || now < self.since + memory && self.previous.contains(&hash)
    }
}

impl Recalls {
    pub(crate) fn is_recent(&self, file: &FileKey, now: Duration, memory: Duration) -> bool {
        self.recent.has(file, now, memory)
    }

    pub(crate) fn forget(&mut self, key: StateKey) {
        if let Some(deadline) = self.of.remove(&key) {
            self.deadlines.remove(&(deadline, key));
        }
    }

    /// Sets when a recall times out; an earlier time stays.
    fn begin(&mut self, key: StateKey, deadline: Duration) {
        let deadline = self.of.get(&key).map_or(deadline, |earlier| deadline.min(*earlier));
        self.forget(key);
        self.of.insert(key, deadline);
        self.deadlines.insert((deadline, key));
    }

    fn is_late(&self, key: StateKey, now: Duration) -> bool {
        self.of.get(&key).is_none_or(|deadline| *deadline <= now)
    }

    /// A recall that timed out.
    fn next_late(&self, now: Duration) -> Option<StateKey> {
        self.deadlines.first().filter(|(deadline, _)| *deadline <= now).map(|(_, key)| *key)
    }
}

impl Core {
    /// Recalls the delegations that an open conflicts with. An open that denies reading conflicts with every
    /// delegation, since the delegation's client opens for reading without the server. One that denies writing does not
    /// conflict with a read delegation.
    pub(crate) fn recall_for_open(&mut self, now: Duration, args: &OpenArgs<'_>) -> Result<(), StateError> {
        let exclusive = args.access.writes() || ShareAccess::READ.is_denied_by(args.deny);
        let kind = if exclusive { AccessKind::Write } else { AccessKind::Read };
        match self.recall_for_access(now, &args.file, kind, Requester::Client(args.client))? {
            AccessCheck::Proceed => Ok(()),
            AccessCheck::Wait => Err(StateError::Delay),
        }
    }

    /// Recalls the delegations of others that conflict with an access.
    pub(crate) fn recall_for_access(
        &mut self,
        now: Duration,
        file: &FileKey,
        kind: AccessKind,
        who: Requester,
    ) -> Result<AccessCheck, StateError> {
        let Some(entry) = self.files.get(file) else { return Ok(AccessCheck::Proceed) };
        let conflicting = entry.delegations.iter().copied().filter(|key| {
            let foreign = who != Requester::Client(ClientId::new(self.shared.boot, key.client()));
            let delegation = self.states.get(key).and_then(StateidEntry::delegation);
            // Writes of the server would break the lease, whoever asked for them.
            let against = foreign || kind == AccessKind::Write && entry.lease.is_some();
            against && delegation.is_some_and(|delegation| kind.conflicts_with(delegation.kind))
        });
        let conflicting: Vec<StateKey> = conflicting.collect();
        let mut verdict = AccessCheck::Proceed;
        for key in conflicting {
            if !self.recall(now, key, now + self.limits().recall)? {
                verdict = AccessCheck::Wait;
            }
        }
        Ok(verdict)
    }

    /// Recalls the delegations of a file whose lease is broken.
    pub(crate) fn recall_leased(&mut self, now: Duration, file: &FileKey, deadline: Duration) {
        if !self.is_leased(file) {
            return;
        }
        let delegations = self.files.get(file).map(|file| file.delegations.clone()).unwrap_or_default();
        for key in delegations {
            // If the client's record cannot be marked now, the delegation is revoked at the deadline.
            if self.recall(now, key, deadline).is_err() {
                self.recalls.begin(key, deadline);
            }
        }
    }

    /// Recalls one delegation; true when it no longer exists.
    fn recall(&mut self, now: Duration, key: StateKey, deadline: Duration) -> Result<bool, StateError> {
        if self.is_clearable(now, key) {
            self.clear(now, key)?;
            return Ok(true);
        }
        let memory = self.limits().recall_memory;
        let Some(held) = self.states.get_mut(&key) else { return Ok(true) };
        let file = *held.file;
        let Some(delegation) = held.delegation_mut() else { return Ok(true) };
        if delegation.recalled.is_some() {
            if !self.recalls.is_late(key, now) {
                self.recalls.begin(key, deadline);
                return Ok(false);
            }
            self.revoke(now, key, StateidStatus::DelegRevoked)?;
            return Ok(true);
        }
        delegation.recalled = Some(now);
        self.recalls.recent.add(&file, now, memory);
        self.recalls.begin(key, deadline);
        self.emit_recall(key);
        Ok(false)
    }

    fn emit_recall(&mut self, key: StateKey) {
        let client = ClientId::new(self.shared.boot, key.client());
        let stateid = self.stateid(key);
        let Some(held) = self.states.get(&key) else { return };
        let Some(delegation) = held.delegation() else { return };
        let recall = Recall { client, stateid, file: *held.file, handle: delegation.handle.clone() };
        self.emit(Event::Recall(recall));
    }

    /// Repeats the recalls of a client, since its earlier callback path may have been dead.
    pub(crate) fn recall_again(&mut self, client: u32) {
        if self.recalls.of.is_empty() {
            return;
        }
        let pending: Vec<_> = self
            .states_of(client)
            .filter(|(_, held)| held.status.holds())
            .filter(|(_, held)| held.delegation().is_some_and(|delegation| delegation.recalled.is_some()))
            .map(|(key, _)| key)
            .collect();
        pending.into_iter().for_each(|key| self.emit_recall(key));
    }

    /// Revokes some of the delegations whose recall timed out. If a client's record cannot be marked, its delegation
    /// stays until the next attempt.
    pub(crate) fn revoke_late(&mut self, now: Duration) {
        for _ in 0..self.limits().steps {
            let Some(key) = self.recalls.next_late(now) else { return };
            if self.revoke(now, key, StateidStatus::DelegRevoked).is_err() {
                return;
            }
            self.recalls.forget(key);
        }
    }

    /// Whether the client holds a delegation.
    pub(crate) fn has_delegation(&self, client: u32) -> bool {
        self.states_of(client).any(|(_, held)| held.status.holds() && held.delegation().is_some())
    }

    /// Recalls conflicting delegations for the lock protocol, since a client with a delegation locks without the server
    /// (RFC 8881 §10.4.1).
    pub(crate) fn recall_for_lock(&mut self, now: Duration, file: &FileKey, exclusive: bool) -> Result<(), StateError> {
        let kind = if exclusive { AccessKind::Write } else { AccessKind::Read };
        match self.recall_for_access(now, file, kind, Requester::Other)? {
            AccessCheck::Proceed => Ok(()),
            AccessCheck::Wait => Err(StateError::Delay),
        }
    }
}

/// [`Core::settle`] and the policy rely on this order.
const _: () = assert!((DelegationKind::Read as u8) < (DelegationKind::Write as u8));

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn recalled_file_is_remembered_for_its_time_and_forgotten_after_twice_that() {
        let (mut recent, memory) = (Recent::default(), Duration::from_secs(30));
        let file = FileKey { export: 0, node: vfs::Handle::from_u64(1) };
        recent.add(&file, Duration::from_secs(100), memory);
        assert!(recent.has(&file, Duration::from_secs(129), memory));
        assert!(!recent.has(&file, Duration::from_secs(160), memory));
        let other = FileKey { export: 0, node: vfs::Handle::from_u64(2) };
        recent.add(&other, Duration::from_secs(131), memory);
        assert!(recent.has(&file, Duration::from_secs(132), memory));
    }
}
