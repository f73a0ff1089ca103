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

    /// Holds a file: its data and its attributes.
    pub(crate) fn hold(&self, file: &Handle) -> Held<'_> {
        [Some(self.lock(self.index((file, None)))), None]
    }

    /// Holds a file unless somebody else does.
    pub(crate) fn try_hold(&self, file: &Handle) -> Option<Held<'_>> {
        match self.stripes[self.index((file, None))].try_lock() {
            Ok(guard) => Some([Some(guard), None]),
            Err(TryLockError::Poisoned(error)) => Some([Some(error.into_inner()), None]),
            Err(TryLockError::WouldBlock) => None,
        }
    }

    /// Holds a name.
    pub(crate) fn hold_name(&self, place: &Place<'_>) -> Held<'_> {
        [Some(self.lock(self.index((&place.dir, Some(place.name))))), None]
    }

    /// Holds two names; locks are taken in one order, so that no two callers wait for each other.
    pub(crate) fn hold_names(&self, one: &Place<'_>, other: &Place<'_>) -> Held<'_> {
        let [one, other] = [one, other].map(|place| self.index((&place.dir, Some(place.name))));
        let first = self.lock(one.min(other));
        [Some(first), (one != other).then(|| self.lock(one.max(other)))]
    }

    /// Waits for everybody who holds something now.
    pub(crate) fn wait_for_holders(&self) {
        (0..STRIPES).for_each(|index| drop(self.lock(index)));
    }

    fn index(&self, what: (&Handle, Option<Name<'_>>)) -> usize {
        self.hasher.hash_one(what) as usize % STRIPES
    }

    fn lock(&self, index: usize) -> MutexGuard<'_, ()> {
        self.stripes[index].lock().unwrap_or_else(PoisonError::into_inner)
    }
}
