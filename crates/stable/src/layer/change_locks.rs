//! Keeps changes of one file or name in the same order in the file system and the log.

use std::hash::{BuildHasher, RandomState};
use std::sync::{Mutex, MutexGuard, PoisonError, TryLockError};

use vfs::{Handle, Name, Place};

/// The number of locks; files and names that share one wait for each other.
const STRIPES: usize = 1024;

pub(crate) struct ChangeLocks {
    stripes: Box<[Mutex<()>]>,
    hasher: RandomState,
}

/// While it exists, nobody else changes the file or names.
pub(crate) type ChangeGuard<'o> = [Option<MutexGuard<'o, ()>>; 2];

impl ChangeLocks {
    pub(crate) fn new() -> ChangeLocks {
        ChangeLocks { stripes: (0..STRIPES).map(|_| Mutex::default()).collect(), hasher: RandomState::new() }
    }

    /// Holds the data and attributes of a file. `None` when another caller holds it and this one may not wait.
    pub(crate) fn hold(&self, file: &Handle, may_wait: bool) -> Option<ChangeGuard<'_>> {
        self.lock(self.index((file, None)), may_wait).map(|guard| [Some(guard), None])
    }

    /// Holds a name, as [`ChangeLocks::hold`] does a file.
    pub(crate) fn hold_name(&self, place: &Place<'_>, may_wait: bool) -> Option<ChangeGuard<'_>> {
        self.lock(self.index((&place.dir, Some(place.name))), may_wait).map(|guard| [Some(guard), None])
    }

    /// Holds two names. Locks are taken in a fixed order, which avoids deadlocks.
    pub(crate) fn hold_names(&self, names: [&Place<'_>; 2], may_wait: bool) -> Option<ChangeGuard<'_>> {
        let [one, other] = names.map(|place| self.index((&place.dir, Some(place.name))));
        let first = self.lock(one.min(other), may_wait)?;
        if one == other {
            return Some([Some(first), None]);
        }
        Some([Some(first), Some(self.lock(one.max(other), may_wait)?)])
    }

    /// Waits for all current holders.
    pub(crate) fn wait_for_holders(&self) {
        (0..STRIPES).for_each(|index| drop(self.lock(index, true)));
    }

    fn index(&self, what: (&Handle, Option<Name<'_>>)) -> usize {
        self.hasher.hash_one(what) as usize % STRIPES
    }

    fn lock(&self, index: usize, may_wait: bool) -> Option<MutexGuard<'_, ()>> {
        let stripe = &self.stripes[index];
        if may_wait {
            return Some(stripe.lock().unwrap_or_else(PoisonError::into_inner));
        }
        match stripe.try_lock() {
            Ok(guard) => Some(guard),
            Err(TryLockError::Poisoned(error)) => Some(error.into_inner()),
            Err(TryLockError::WouldBlock) => None,
        }
    }
}
