//! The owners of locks, each with its own open of a file.

use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use client_files::File;
use vfs::{LockOwner, Result};

use super::handles::Number;
use super::status;

/// All owners of locks.
#[derive(Debug, Default)]
pub(super) struct Lockers {
    table: Mutex<HashMap<(Number, LockOwner), Arc<Locker>>>,
    /// How many owners there are: reads and writes skip the table when it is 0.
    count: AtomicUsize,
}

/// An owner's own open of a file.
#[derive(Debug)]
pub(super) struct Locker {
    pub(super) file: File,
    /// Whether it was ever granted a lock.
    pub(super) has_locked: AtomicBool,
}

impl Lockers {
    fn table(&self) -> MutexGuard<'_, HashMap<(Number, LockOwner), Arc<Locker>>> {
        self.table.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Refuses reads and writes of a file while an owner has a lost lock on it. All users share the open file, so which
    /// of them relies on the lock is unknown.
    pub(super) fn check(&self, number: Number) -> Result<()> {
        if self.count.load(Ordering::Relaxed) == 0 {
            return Ok(());
        }
        let table = self.table();
        let mut lockers = table.iter().filter(|((of, _), _)| *of == number);
        lockers.try_for_each(|(_, locker)| locker.file.check_kept()).map_err(status::neutral)
    }

    /// The owner's open, if it has one.
    pub(super) fn get(&self, number: Number, owner: LockOwner) -> Option<Arc<Locker>> {
        self.table().get(&(number, owner)).cloned()
    }

    /// Adds an owner's open. Another thread of the same owner may have been faster: then its open counts.
    pub(super) fn add(&self, number: Number, owner: LockOwner, locker: Locker) -> Arc<Locker> {
        let mut table = self.table();
        let locker = Arc::clone(table.entry((number, owner)).or_insert_with(|| Arc::new(locker)));
        self.count.store(table.len(), Ordering::Relaxed);
        locker
    }

    /// Removes an owner.
    pub(super) fn remove(&self, number: Number, owner: LockOwner) -> Option<Arc<Locker>> {
        let mut table = self.table();
        let locker = table.remove(&(number, owner));
        self.count.store(table.len(), Ordering::Relaxed);
        locker
    }
}
