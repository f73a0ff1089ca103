//! OPEN_CONFIRM, OPEN_DOWNGRADE and CLOSE (RFC 7530 §16.18–19, RFC 8881 §18.2, §18.18).

use std::time::Duration;

use crate::core::Core;
use crate::file::StateidEntry;
use crate::ids::StateKey;
use crate::share::Share;
use crate::stateid_table::StateidStatus;
use crate::{FileKey, ScopedStateid, State, StateError, Stateid, StateidScope};

impl State {
    /// OPEN_CONFIRM (NFSv4.0): confirms the owner's seqid, which makes the open usable.
    ///
    /// # Errors
    /// [`StateError::BadStateid`] for an open that needs no confirmation, `OldStateid`, `StaleStateid`, `Expired`.
    pub fn open_confirm(&self, now: Duration, stateid: &Stateid, file: &FileKey) -> Result<Stateid, StateError> {
        let mut core = self.core();
        let key = core.find(now, StateidScope::V40.of(stateid), file, StateidEntry::check_unconfirmed)?;
        let held = core.states.get_mut(&key).ok_or(StateError::BadStateid)?;
        held.status = StateidStatus::Valid;
        let owner = held.owner;
        if let Some(owner) = core.owners.get_mut(owner) {
            owner.confirmed = true;
        }
        core.publish(key);
        Ok(core.bump(key))
    }

    /// OPEN_DOWNGRADE: reduces access and deny to those of some of the owner's OPENs.
    ///
    /// # Errors
    /// [`StateError::Inval`] for a pair that no OPENs requested, and errors of the stateid.
    pub fn open_downgrade(
        &self,
        now: Duration,
        open: ScopedStateid<'_>,
        file: &FileKey,
        share: Share,
    ) -> Result<Stateid, StateError> {
        let mut core = self.core();
        let key = core.find(now, open, file, StateidEntry::check_open)?;
        let open = core.states.get_mut(&key).and_then(StateidEntry::open_mut).ok_or(StateError::BadStateid)?;
        if !open.seen.reaches(share.access, share.deny) {
            return Err(StateError::Inval);
        }
        open.seen.keep_within(share.access, share.deny);
        let downgraded = core.share(key, share);
        core.settle(file);
        Ok(downgraded)
    }

    /// CLOSE: ends an open and releases its locks. NFSv4.1 returns [`Stateid::INVALID`] (RFC 8881 §18.2.4).
    ///
    /// # Errors
    /// [`StateError::Unfinished`] after the release of some of many locks, and errors of the stateid.
    pub fn close(
        &self,
        now: Duration,
        scope: StateidScope,
        stateid: &Stateid,
        file: &FileKey,
    ) -> Result<Stateid, StateError> {
        let mut core = self.core();
        let key = core.find(now, scope.of(stateid), file, StateidEntry::check_closable)?;
        if core.close_some(now, key) {
            return Err(StateError::Unfinished);
        }
        core.goes_on(now, key.client());
        match scope {
            StateidScope::V40 => Ok(core.close40(now, key)),
            StateidScope::V41(_) => {
                core.remove_state(now, key);
                Ok(Stateid::INVALID)
            }
        }
    }
}

impl Core {
    /// Removes some of an open's lock states and locks, if one step may not remove all of the file's; true while there
    /// are more.
    fn close_some(&mut self, now: Duration, key: StateKey) -> bool {
        let has_locks =
            |core: &Core| core.states.get(&key).and_then(StateidEntry::open).is_some_and(|open| !open.locks.is_empty());
        let locks = self.states.get(&key).and_then(|held| self.locks_of(&held.file));
        let mut steps = self.limits().steps;
        if locks.is_none_or(|locks| locks.held.len().max(locks.states.len()) <= steps) {
            return false;
        }
        while steps > 0 && has_locks(self) {
            steps = steps.saturating_sub(self.remove_some(now, key, steps));
        }
        has_locks(self)
    }

    /// Keeps the closed open under its stateid until the owner's next request proves that the reply arrived.
    fn close40(&mut self, now: Duration, key: StateKey) -> Stateid {
        self.detach(now, key);
        let owner = match self.states.get_mut(&key) {
            Some(held) => {
                held.status = StateidStatus::Closed;
                held.owner
            }
            None => return Stateid::INVALID,
        };
        let previous = self.owners.get_mut(owner).and_then(|owner| {
            owner.used = now;
            owner.seqid.as_mut().map(|seqid| seqid.closed.replace(key))
        });
        match previous {
            Some(Some(previous)) => self.remove_state(now, previous),
            Some(None) => {}
            // An owner without a sequence cannot repeat its CLOSE.
            None => {
                let stateid = self.stateid(key);
                self.remove_state(now, key);
                return stateid;
            }
        }
        self.publish(key);
        self.bump(key)
    }
}
