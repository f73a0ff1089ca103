//! Locks that hold on this mount only (`nolock`, `local_lock`), like those of a local file system.
//!
//! The kernel could keep them by itself, but would not say so: a lock must make others' earlier changes visible, and an
//! unlock must send the holder's own (`lock_call.rs`).

use std::collections::HashMap;
use std::ops::RangeInclusive;
use std::sync::Mutex;

use vfs::{FileLock, Handle, LockOwner};

use crate::sync::hold;

/// A system call that takes locks. Locks of different calls do not conflict on one machine.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum LockCall {
    Fcntl,
    Flock,
}

/// A lock, and the process that took it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct LocalLock {
    pub(crate) owner: LockOwner,
    pub(crate) pid: u32,
    pub(crate) lock: FileLock,
}

/// All local locks of a mount.
#[derive(Debug, Default)]
pub(crate) struct LocalLocks(Mutex<HashMap<(Handle, LockCall), Vec<LocalLock>>>);

impl LocalLocks {
    /// The lock of another owner that conflicts with `wanted`, if any.
    pub(crate) fn conflict(&self, file: Handle, call: LockCall, wanted: &LocalLock) -> Option<LocalLock> {
        hold(&self.0).get(&(file, call))?.iter().find(|held| held.conflicts(wanted)).copied()
    }

    /// Takes a lock, which replaces the owner's own ones in its range. Returns the conflicting lock if there is one.
    pub(crate) fn take(&self, file: Handle, call: LockCall, wanted: LocalLock) -> Option<LocalLock> {
        let mut table = hold(&self.0);
        let locks = table.entry((file, call)).or_default();
        let conflict = locks.iter().find(|held| held.conflicts(&wanted)).copied();
        if conflict.is_none() {
            cut_out(locks, wanted.owner, wanted.lock.first_bytes..=wanted.lock.last_bytes);
            locks.push(wanted);
        }
        conflict
    }

    /// Releases an owner's locks within a range.
    pub(crate) fn release(&self, file: Handle, call: LockCall, owner: LockOwner, range_bytes: RangeInclusive<u64>) {
        let mut table = hold(&self.0);
        if let Some(locks) = table.get_mut(&(file, call)) {
            cut_out(locks, owner, range_bytes);
            if locks.is_empty() {
                table.remove(&(file, call));
            }
        }
    }
}

impl LocalLock {
    pub(crate) fn range_bytes(&self) -> RangeInclusive<u64> {
        self.lock.first_bytes..=self.lock.last_bytes
    }

    fn conflicts(&self, wanted: &LocalLock) -> bool {
        let (held, asked) = (&self.lock, &wanted.lock);
        let overlaps = held.first_bytes <= asked.last_bytes && asked.first_bytes <= held.last_bytes;
        self.owner != wanted.owner && (held.exclusive || asked.exclusive) && overlaps
    }
}

/// Removes an owner's locks within a range; parts before and behind it stay.
fn cut_out(locks: &mut Vec<LocalLock>, owner: LockOwner, range_bytes: RangeInclusive<u64>) {
    let (first, last) = range_bytes.into_inner();
    let is_hit =
        |held: &mut LocalLock| held.owner == owner && held.lock.first_bytes <= last && first <= held.lock.last_bytes;
    let hit: Vec<LocalLock> = locks.extract_if(.., is_hit).collect();
    for held in hit {
        if held.lock.first_bytes < first {
            locks.push(LocalLock { lock: FileLock { last_bytes: first - 1, ..held.lock }, ..held });
        }
        if held.lock.last_bytes > last {
            locks.push(LocalLock { lock: FileLock { first_bytes: last + 1, ..held.lock }, ..held });
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ALL: RangeInclusive<u64> = 0..=u64::MAX;

    fn lock(owner: u64, first_bytes: u64, last_bytes: u64, exclusive: bool) -> LocalLock {
        LocalLock { owner: LockOwner(owner), pid: 7, lock: FileLock { first_bytes, last_bytes, exclusive } }
    }

    fn file() -> Handle {
        Handle::from_u64(1)
    }

    #[test]
    fn owners_exclude_each_other_but_not_themselves_and_not_other_calls_or_files() {
        let locks = LocalLocks::default();
        assert_eq!(locks.take(file(), LockCall::Fcntl, lock(1, 0, 9, true)), None);
        assert_eq!(locks.take(file(), LockCall::Fcntl, lock(2, 9, 20, false)), Some(lock(1, 0, 9, true)));
        assert_eq!(locks.take(file(), LockCall::Fcntl, lock(1, 5, 20, false)), None);
        assert_eq!(locks.take(file(), LockCall::Flock, lock(2, 0, 9, true)), None);
        assert_eq!(locks.take(Handle::from_u64(2), LockCall::Fcntl, lock(2, 0, 9, true)), None);
        assert_eq!(locks.take(file(), LockCall::Fcntl, lock(2, 9, 20, false)), None, "both are shared there now");
        assert!(locks.conflict(file(), LockCall::Fcntl, &lock(3, 4, 4, false)).is_some());
    }

    #[test]
    fn released_range_is_free_and_the_rest_stays_locked() {
        let locks = LocalLocks::default();
        locks.take(file(), LockCall::Fcntl, lock(1, 0, u64::MAX, true));
        locks.release(file(), LockCall::Fcntl, LockOwner(1), 10..=19);
        assert_eq!(locks.take(file(), LockCall::Fcntl, lock(2, 10, 19, true)), None);
        for place in [9, 20] {
            assert!(locks.conflict(file(), LockCall::Fcntl, &lock(2, place, place, true)).is_some(), "{place}");
        }
        locks.release(file(), LockCall::Fcntl, LockOwner(1), ALL);
        locks.release(file(), LockCall::Fcntl, LockOwner(2), ALL);
        assert!(hold(&locks.0).is_empty());
    }
}
