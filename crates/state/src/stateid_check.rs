//! Resolves stateids in requests, and checks whether they permit the access (RFC 8881 §8.2.4, RFC 7530 §9.1.4).

use std::cmp::Ordering;
use std::time::Duration;

use crate::client::Client;
use crate::core::{Core, Shared};
use crate::file::{Body, StateidEntry};
use crate::ids::StateKey;
use crate::stateid_table::Published;
use crate::{
    AccessCheck, AccessKind, DelegationKind, FileKey, Requester, ScopedStateid, State, StateError, StateKind, Stateid,
    StateidScope,
};

/// The kind of access under a stateid.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum IoKind {
    /// READ.
    Read,
    /// WRITE, and SETATTR of the size.
    Write,
}

impl State {
    /// Checks the stateid of a READ, a WRITE or a SETATTR of the size against `file`. For a regular stateid, it takes
    /// one shard's read lock; in NFSv4.0, it renews the lease (RFC 7530 §9.5).
    ///
    /// # Errors
    /// [`StateError::BadStateid`], `OldStateid`, `StaleStateid`, `Expired`, `AdminRevoked`, `DelegRevoked`, `OpenMode`;
    /// for the reserved stateids `Locked`, `Grace`, and `Delay` during a recall.
    pub fn check_io(
        &self,
        now: Duration,
        ScopedStateid { scope, stateid }: ScopedStateid<'_>,
        file: &FileKey,
        io: IoKind,
    ) -> Result<(), StateError> {
        if stateid.is_special() {
            return self.check_special(now, scope.of(stateid), file, io);
        }
        let key = self.shared.locate(scope, stateid)?;
        let shard = self.shared.stateids.read(key);
        let Some(published) = shard.get(&key) else {
            drop(shard);
            return Err(self.why_gone(scope, stateid));
        };
        published.check(now, scope, stateid, file)?;
        let access = published.access;
        drop(shard);
        if self.shared.grace.load(std::sync::atomic::Ordering::Acquire) {
            self.core().goes_on(now, key.client());
        }
        // A client that writes may have to read what it does not overwrite (RFC 8881 §18.22.3), so an open for writing
        // permits reading. A read delegation does not permit writing.
        match io {
            IoKind::Write if !access.writes() => Err(StateError::OpenMode),
            _ => Ok(()),
        }
    }

    /// The error for a stateid without a state. NFSv4.0 reports whether its client has expired (RFC 7530 §9.1.4.4);
    /// with sessions, SEQUENCE would have failed.
    fn why_gone(&self, scope: StateidScope, stateid: &Stateid) -> StateError {
        match scope {
            StateidScope::V40 => self.core().locate(stateid).err().unwrap_or(StateError::BadStateid),
            StateidScope::V41(_) => StateError::BadStateid,
        }
    }

    /// Checks a reserved stateid: it has no open, so it may conflict with opens and delegations of others.
    fn check_special(
        &self,
        now: Duration,
        ScopedStateid { scope, stateid }: ScopedStateid<'_>,
        file: &FileKey,
        io: IoKind,
    ) -> Result<(), StateError> {
        let who = match scope {
            StateidScope::V40 => Requester::Other,
            StateidScope::V41(client) => Requester::Client(client),
        };
        let kind = match io {
            IoKind::Read if *stateid == Stateid::READ_BYPASS => return self.check_bypass(now, file, who),
            IoKind::Read => AccessKind::Read,
            IoKind::Write => AccessKind::Write,
        };
        if *stateid != Stateid::ANONYMOUS && *stateid != Stateid::READ_BYPASS {
            return Err(StateError::BadStateid);
        }
        // A share reservation that a client has yet to reclaim may deny this (RFC 8881 §8.4.2.1).
        if self.in_grace(now) {
            return Err(StateError::Grace);
        }
        match self.conflict_check(now, file, kind, who)? {
            AccessCheck::Proceed => Ok(()),
            AccessCheck::Wait => Err(StateError::Delay),
        }
    }

    /// READ bypasses share reservations, but a write delegation may hide newer data.
    fn check_bypass(&self, now: Duration, file: &FileKey, who: Requester) -> Result<(), StateError> {
        if self.shared.guards.get(file).delegated != Some(DelegationKind::Write) {
            return Ok(());
        }
        match self.core().recall_for_access(now, file, AccessKind::Read, who)? {
            AccessCheck::Proceed => Ok(()),
            AccessCheck::Wait => Err(StateError::Delay),
        }
    }

    /// TEST_STATEID (RFC 8881 §18.48): the result of using the stateid, for whatever file.
    ///
    /// # Errors
    /// Errors of the stateid.
    pub fn test_stateid(&self, now: Duration, scope: StateidScope, stateid: &Stateid) -> Result<StateKind, StateError> {
        if stateid.is_special() {
            return Err(StateError::BadStateid);
        }
        let key = self.shared.locate(scope, stateid)?;
        let shard = self.shared.stateids.read(key);
        let published = shard.get(&key).ok_or(StateError::BadStateid)?;
        let (checked, kind) = (published.check(now, scope, stateid, &published.file), published.kind);
        let is_searched = published.is_searched();
        drop(shard);
        if is_searched {
            self.note_tested(now, key);
        }
        checked.map(|()| kind)
    }

    /// FREE_STATEID (RFC 8881 §18.38): removes a revoked state, or a lock stateid without locks.
    ///
    /// # Errors
    /// [`StateError::LocksHeld`] for state in use, `BadStateid` or `OldStateid`.
    pub fn free_stateid(&self, now: Duration, scope: StateidScope, stateid: &Stateid) -> Result<(), StateError> {
        let mut core = self.core();
        let key = core.shared.locate(scope, stateid)?;
        let held = core.states.get(&key).ok_or(StateError::BadStateid)?;
        compare_seqid(scope, stateid.seqid, held.seqid)?;
        if !held.status.is_revoked() {
            match &held.body {
                Body::Lock(_)
                    if !core.locks_of(&held.file).is_some_and(|locks| locks.held.has_state(held.owner, key)) => {}
                _ => return Err(StateError::LocksHeld),
            }
        }
        core.remove_state(now, key);
        Ok(())
    }

    /// The file of a stateid. Takes one shard's read lock.
    ///
    /// # Errors
    /// Errors of the stateid.
    pub fn stateid_file(&self, scope: StateidScope, stateid: &Stateid) -> Result<FileKey, StateError> {
        let key = self.shared.locate(scope, stateid)?;
        let shard = self.shared.stateids.read(key);
        shard.get(&key).map(|published| *published.file).ok_or(StateError::BadStateid)
    }
}

impl Shared {
    /// The key of a stateid, if it is from this boot and belongs to the requester.
    pub(crate) fn locate(&self, scope: StateidScope, stateid: &Stateid) -> Result<StateKey, StateError> {
        if stateid.is_special() {
            return Err(StateError::BadStateid);
        }
        match scope {
            // NFSv4.1 has no status for this, since the session ended with the boot (RFC 8881 §15.1.16.5).
            _ if stateid.boot() != self.boot && scope != StateidScope::V40 => Err(StateError::BadStateid),
            _ if stateid.boot() != self.boot => Err(StateError::StaleStateid),
            StateidScope::V41(client) if client.number() != stateid.key().client() => Err(StateError::BadStateid),
            _ => Ok(stateid.key()),
        }
    }
}

impl Published {
    fn check(&self, now: Duration, scope: StateidScope, stateid: &Stateid, file: &FileKey) -> Result<(), StateError> {
        if *self.file != *file {
            return Err(StateError::BadStateid);
        }
        let alive = match scope {
            StateidScope::V40 => self.lease.renew(now),
            // SEQUENCE renewed it.
            StateidScope::V41(_) => !self.lease.has_ended(),
        };
        if !alive {
            return Err(StateError::Expired);
        }
        self.status.check()?;
        compare_seqid(scope, stateid.seqid, self.seqid)
    }
}

impl Core {
    /// The key of a stateid of this boot; `Expired` if its client has ended.
    pub(crate) fn locate(&self, stateid: &Stateid) -> Result<StateKey, StateError> {
        let key = self.shared.locate(StateidScope::V40, stateid)?;
        self.holder(key)?;
        Ok(key)
    }

    /// The client of a state; `Expired` if it has ended.
    fn holder(&self, key: StateKey) -> Result<&Client, StateError> {
        let client = key.client();
        match self.clients.get(&client) {
            Some(client) => Ok(client),
            None if (1..=self.last_client).contains(&client) => Err(StateError::Expired),
            None => Err(StateError::BadStateid),
        }
    }

    /// The state of a stateid for this file, if it passes `check`.
    pub(crate) fn find(
        &self,
        now: Duration,
        ScopedStateid { scope, stateid }: ScopedStateid<'_>,
        file: &FileKey,
        check: fn(&StateidEntry) -> Result<(), StateError>,
    ) -> Result<StateKey, StateError> {
        let key = self.shared.locate(scope, stateid)?;
        let client = self.holder(key)?;
        if scope == StateidScope::V40 {
            client.lease.renew(now);
        }
        let held = self.states.get(&key).filter(|held| *held.file == *file).ok_or(StateError::BadStateid)?;
        compare_seqid(scope, stateid.seqid, held.seqid)?;
        check(held)?;
        Ok(key)
    }
}

/// Fails unless a stateid has the current seqid of its state. In NFSv4.1, 0 means the current one (RFC 8881 §8.2.2).
pub(crate) fn compare_seqid(scope: StateidScope, given: u32, current: u32) -> Result<(), StateError> {
    if given == 0 && scope != StateidScope::V40 {
        return Ok(());
    }
    // Seqids wrap: a smaller one within half of the range is old, any other was never used.
    match (given.wrapping_sub(current) as i32).cmp(&0) {
        Ordering::Equal => Ok(()),
        Ordering::Less => Err(StateError::OldStateid),
        Ordering::Greater => Err(StateError::BadStateid),
    }
}
