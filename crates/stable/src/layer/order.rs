//! Changes of one file or name reach the file system and the log in the same order.

use std::hash::{BuildHasher, RandomState};
use std::sync::{Mutex, MutexGuard, PoisonError, TryLockError};

use vfs::{Handle, Name, Place};

/// How many locks there are: files and names that share one wait for each other.
const STRIPES: usize = 1024;

pub(crate) struct Order {
    stripes: Box<[Mutex<()>]>,
    hasher: RandomState,
}

/// While it is held, nobody else changes what it is for.
pub(crate) type Held<'o> = [Option<MutexGuard<'o, ()>>; 2];

impl Order {
    pub(crate) fn new() -> Order {
        Order { stripes: (0..STRIPES).map(|_| Mutex::default()).collect(), hasher: RandomState::new() }
    }

    /// Holds a file: its data and its attributes. `None` when somebody else does and the caller may not wait.
    pub(crate) fn hold(&self, file: &Handle, may_wait: bool) -> Option<Held<'_>> {
        self.lock(self.index((file, None)), may_wait).map(|guard| [Some(guard), None])
    }

    /// Holds a name, as [`Order::hold`] does a file.
    pub(crate) fn hold_name(&self, place: &Place<'_>, may_wait: bool) -> Option<Held<'_>> {
        self.lock(self.index((&place.dir, Some(place.name))), may_wait).map(|guard| [Some(guard), None])
    }

    /// Holds two names; locks are taken in one order, so that no two callers wait for each other.
    pub(crate) fn hold_names(&self, names: [&Place<'_>; 2], may_wait: bool) -> Option<Held<'_>> {
        let [one, other] = names.map(|place| self.index((&place.dir, Some(place.name))));
        let first = self.lock(one.min(other), may_wait)?;
        if one == other {
            return Some([Some(first), None]);
        }
        Some([Some(first), Some(self.lock(one.max(other), may_wait)?)])
    }

    /// Waits for everybody who holds something now.
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
