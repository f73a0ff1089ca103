//! Locks on names, held by changes of this mount that depend on which file a name leads to.

use std::collections::HashSet;
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};

use super::handles::{NameAt, Number};

type Name = (Number, Box<[u8]>);

/// The locked names.
#[derive(Debug, Default)]
pub(super) struct NameLocks {
    held: Mutex<HashSet<Name>>,
    /// Signalled at each release.
    released: Condvar,
}

/// Some locked names. Dropping this releases them.
#[derive(Debug)]
pub(super) struct NameLock<'l> {
    locks: &'l NameLocks,
    names: Vec<Name>,
}

impl NameLocks {
    /// Waits until nobody has any of these names, and locks all of them.
    pub(super) fn lock(&self, places: &[NameAt<'_>]) -> NameLock<'_> {
        let names: Vec<Name> = places.iter().map(|at| (at.dir.number, at.name.into())).collect();
        let is_held = |held: &mut HashSet<Name>| names.iter().any(|name| held.contains(name));
        let mut held = self.released.wait_while(self.held(), is_held).unwrap_or_else(PoisonError::into_inner);
        held.extend(names.iter().cloned());
        drop(held);
        NameLock { locks: self, names }
    }

    fn held(&self) -> MutexGuard<'_, HashSet<Name>> {
        self.held.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for NameLock<'_> {
    fn drop(&mut self) {
        let mut held = self.locks.held();
        self.names.iter().for_each(|name| {
            held.remove(name);
        });
        drop(held);
        self.locks.released.notify_all();
    }
}
