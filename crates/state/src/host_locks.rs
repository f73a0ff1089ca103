//! Mirrors the clients' locks on the host's files, so that they conflict with those of local processes.

use std::sync::Arc;
use std::time::Duration;

use crate::account::Kind;
use crate::core::Core;
use crate::ids::{OwnerId, StateKey};
use crate::lock_set::{HeldLock, HostRange};
use crate::range_tree::OwnerRange;
use crate::{ByteRange, Conflict, FileKey, State, StateError};

/// A local process holds a conflicting lock.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct HostRefusal {
    /// The range of its lock, as far as it is known.
    pub range: ByteRange,
    /// Whether it is exclusive.
    pub exclusive: bool,
}

/// Holds locks on the host's files on behalf of all clients together. It is called with the state's mutex held and must
/// not block.
pub trait HostLocks: Send {
    /// Whether any locks must be mirrored; if not, their ranges are not computed.
    fn is_needed(&self) -> bool {
        true
    }

    /// Whether the host opens this file for its locks.
    fn opens(&self, _file: &FileKey) -> bool {
        true
    }

    /// Makes `wanted` the lock in its range, replacing what was held there. `held` returns the clients' locks so far,
    /// for a host that does not know the file yet.
    ///
    /// # Errors
    /// When a local process's lock conflicts; earlier locks are then unchanged.
    fn take(&mut self, file: &FileKey, wanted: HostRange, held: &dyn Fn() -> Vec<HostRange>)
    -> Result<(), HostRefusal>;

    /// Releases `ranges`, which are in order and do not overlap.
    fn release(&mut self, file: &FileKey, ranges: &[ByteRange]);

    /// Releases everything on `file`. The host may keep the file open for the next lock, until it is told to close it.
    fn release_all(&mut self, file: &FileKey);

    /// Closes `file` if it is open without a lock.
    fn close_unlocked(&mut self, _file: &FileKey) {}

    /// Closes all files that are open without a lock.
    fn close_all_unlocked(&mut self) {}

    /// Tests whether a local process's lock conflicts, without taking the lock.
    ///
    /// # Errors
    /// The conflicting lock.
    fn test(&mut self, file: &FileKey, wanted: HostRange) -> Result<(), HostRefusal>;
}

/// No host: only the server locks the files.
#[derive(Debug, Default)]
pub struct NoHostLocks;

impl HostLocks for NoHostLocks {
    fn is_needed(&self) -> bool {
        false
    }

    fn take(&mut self, _: &FileKey, _: HostRange, _: &dyn Fn() -> Vec<HostRange>) -> Result<(), HostRefusal> {
        Ok(())
    }

    fn release(&mut self, _: &FileKey, _: &[ByteRange]) {}

    fn release_all(&mut self, _: &FileKey) {}

    fn test(&mut self, _: &FileKey, _: HostRange) -> Result<(), HostRefusal> {
        Ok(())
    }
}

impl From<HostRefusal> for StateError {
    fn from(refusal: HostRefusal) -> StateError {
        let HostRefusal { range, exclusive } = refusal;
        StateError::Denied(Box::new(Conflict { range, exclusive, client: None, owner: Box::default() }))
    }
}

impl State {
    /// Closes a file that is open on the host for no lock: an open file is not leased for writing.
    pub fn close_unlocked(&self, file: &FileKey) {
        self.core().host.close_unlocked(file);
    }
}

/// The worker whose files at hand are used to hold a file for a host of the lock protocol, which few do.
pub(crate) const NLM_WORKER: usize = 0;

impl Core {
    /// Adds a lock here and on the host, or neither.
    pub(crate) fn hold_lock(&mut self, file: &FileKey, lock: HeldLock) -> Result<(), StateError> {
        let account = Arc::clone(self.account_of_owner(lock.owner)?);
        let Some(locks) = self.files.get_mut(file).map(|file| file.locks.get_or_insert_default()) else {
            self.file_entry(file);
            return self.hold_lock(file, lock);
        };
        let before = locks.held.len();
        let more = 1 + locks.held.growth_without(lock.owner, lock.range);
        if before + more > self.shared.limits.locks_per_file || !account.has_room(Kind::Lock, more) {
            return Err(StateError::Resource);
        }
        if self.host.is_needed() {
            if locks.host_file.is_none() && self.host.opens(file) {
                locks.host_file = Some(account.take(Kind::LockedFile)?);
            }
            let wanted = HostRange { range: lock.range, exclusive: lock.exclusive };
            self.host.take(file, wanted, &|| locks.held.coverage()).inspect_err(|_| {
                locks.host_file = locks.host_file.take().filter(|_| !locks.held.is_empty());
            })?;
        }
        locks.held.set(lock);
        account.change(Kind::Lock, before, locks.held.len());
        if lock.state.is_none() {
            self.note_nlm_file(lock.owner, file);
            // Whoever locks a file that is gone finds out with the next use of its handle.
            let _ = self.hold(file, &account, NLM_WORKER);
        }
        Ok(())
    }

    /// Begins an unlock, and ends the owner's waits in the range.
    ///
    /// # Errors
    /// [`StateError::Unfinished`] after the release of some of many locks; `Resource` when the limit of locks would be
    /// exceeded, since an unlock in the middle of a lock leaves two.
    pub(crate) fn begin_unlock(&mut self, now: Duration, file: &FileKey, lock: OwnerRange) -> Result<(), StateError> {
        let Some(locks) = self.locks_of(file) else { return Ok(()) };
        let (held, has_waiters) = (locks.held.len(), !locks.waiting.is_empty());
        let more = locks.held.growth_without(lock.owner, lock.range);
        if held > self.limits().steps && self.release_some(now, file, lock) {
            return Err(StateError::Unfinished);
        }
        let fits = held + more <= self.limits().locks_per_file;
        if more > 0 && !(fits && self.account_of_owner(lock.owner)?.has_room(Kind::Lock, more)) {
            return Err(StateError::Resource);
        }
        if has_waiters {
            self.cancel_waits(file, lock);
        }
        Ok(())
    }

    /// Releases an owner's locks in a range, and wakes the waiters.
    pub(crate) fn release_range(&mut self, now: Duration, file: &FileKey, lock: OwnerRange) {
        let Some(locks) = self.files.get_mut(file).and_then(|file| file.locks.as_mut()) else { return };
        let (before, has_waiters) = (locks.held.len(), !locks.waiting.is_empty());
        let unlocked = locks.held.clear(lock.owner, lock.range);
        debug_assert!(unlocked.is_empty() || self.owners.get(lock.owner).is_some(), "who has locks has a name");
        if let Some(owner) = self.owners.get(lock.owner) {
            owner.charge.account().change(Kind::Lock, before, locks.held.len());
        }
        if !unlocked.is_empty() && self.host.is_needed() {
            match locks.held.is_empty() {
                true => {
                    self.host.release_all(file);
                    locks.host_file = None;
                }
                false => self.host.release(file, &locks.held.freed(&unlocked)),
            }
        }
        if has_waiters {
            self.wake(now, file, lock.range);
        }
    }

    /// Releases the first locks of an owner in a range, if one step may not release all; true when it did.
    fn release_some(&mut self, now: Duration, file: &FileKey, lock: OwnerRange) -> bool {
        let steps = self.limits().steps;
        let locks = self.locks_of(file).map(|locks| &locks.held);
        let some =
            locks.and_then(|held| held.first_of(lock.owner, lock.range, steps)).filter(|(count, _)| *count == steps);
        let Some((_, some)) = some else { return false };
        self.release_range(now, file, OwnerRange { range: some, ..lock });
        true
    }

    /// Releases an owner's locks under a stateid, and wakes the waiters.
    pub(crate) fn drop_locks_of(&mut self, now: Duration, file: &FileKey, owner: OwnerId, state: StateKey) {
        if self.locks_of(file).is_some_and(|locks| locks.held.has_state(owner, state)) {
            self.release_range(now, file, OwnerRange { owner, range: ByteRange::WHOLE });
        }
    }
}
