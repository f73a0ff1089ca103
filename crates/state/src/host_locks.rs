//! Locks that the server holds on the host's files, so that local processes see those of its clients.

use std::time::Duration;

use crate::core::Core;
use crate::ids::StateKey;
use crate::lock_set::{HeldLock, HostRange, LockSet};
use crate::{ByteRange, Conflict, FileKey, StateError};

/// A local process holds a lock that conflicts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct HostRefusal {
    /// The range that is held, as far as it is known.
    pub range: ByteRange,
    /// Whether exclusively.
    pub exclusive: bool,
}

/// Keeps locks on the host's files on behalf of all clients together. It is called with the state's mutex held and must
/// not wait.
pub trait HostLocks: Send {
    /// Whether there is a host to tell; without one, no ranges are worked out.
    fn is_needed(&self) -> bool {
        true
    }

    /// Makes exactly `ranges` the locks held on `file`: in order, without overlaps, in place of those of the call
    /// before. A call that takes nothing new is never refused.
    ///
    /// # Errors
    /// When a local process's lock stands in the way of a new one; then the locks of the call before are still held.
    fn hold(&mut self, file: &FileKey, ranges: &[HostRange]) -> Result<(), HostRefusal>;

    /// Whether a local process's lock would stand in the way of this one, which is not taken.
    ///
    /// # Errors
    /// The lock that stands in the way.
    fn test(&mut self, file: &FileKey, wanted: HostRange) -> Result<(), HostRefusal>;
}

/// No host: files that nobody but the server locks.
#[derive(Debug, Default)]
pub struct NoHostLocks;

impl HostLocks for NoHostLocks {
    fn is_needed(&self) -> bool {
        false
    }

    fn hold(&mut self, _: &FileKey, _: &[HostRange]) -> Result<(), HostRefusal> {
        Ok(())
    }

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

impl Core {
    /// Changes the locks of a file here and on the host, or neither.
    fn change_locks(&mut self, file: &FileKey, change: impl FnOnce(&mut LockSet)) -> Result<(), HostRefusal> {
        let needed = self.host.is_needed();
        let Some(locks) = self.locks_mut(file) else { return Ok(()) };
        let before = locks.held.len();
        let backup = needed.then(|| locks.held.clone());
        change(&mut locks.held);
        let after = locks.held.len();
        if needed {
            let ranges = locks.held.coverage();
            if let Err(refusal) = self.host.hold(file, &ranges) {
                if let (Some(backup), Some(locks)) = (backup, self.locks_mut(file)) {
                    locks.held = backup;
                }
                return Err(refusal);
            }
        }
        self.counts.locks = self.counts.locks + after - before;
        Ok(())
    }

    /// Adds a lock.
    pub(crate) fn hold_lock(&mut self, file: &FileKey, lock: HeldLock) -> Result<(), StateError> {
        let held = self.locks_of(file).map_or(0, |locks| locks.held.len());
        if held >= self.limits().locks_per_file || self.counts.locks >= self.limits().locks {
            return Err(StateError::Resource);
        }
        self.change_locks(file, |set| set.set(lock))?;
        if lock.state.is_none() {
            self.note_nlm_file(lock.owner, file);
        }
        Ok(())
    }

    /// Removes what an owner has locked in a range, and wakes who waited for it.
    pub(crate) fn release_range(&mut self, now: Duration, file: &FileKey, lock: (crate::owner::OwnerId, ByteRange)) {
        // Giving up locks is never refused.
        let _ = self.change_locks(file, |set| set.clear(lock.0, lock.1));
        self.wake(now, file);
    }

    /// Removes what is locked under a stateid, and wakes who waited for it.
    pub(crate) fn drop_locks_of(&mut self, now: Duration, file: &FileKey, state: StateKey) {
        if self.locks_of(file).is_none_or(|locks| !locks.held.has_state(state)) {
            return;
        }
        let _ = self.change_locks(file, |set| set.clear_state(state));
        self.wake(now, file);
    }
}
