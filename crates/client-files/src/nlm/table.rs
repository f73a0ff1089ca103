use std::collections::BTreeMap;
use std::sync::atomic::AtomicU64;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};

use super::link::Link;
use super::owner::LockOwner;

/// A mount's side of the lock manager.
#[derive(Debug, Default)]
pub(crate) struct Nlm {
    pub(super) link: tokio::sync::Mutex<Option<Link>>,
    /// How many links were found so far.
    pub(super) links: AtomicU64,
    table: Mutex<Table>,
}

#[derive(Debug, Default)]
struct Table {
    /// The owners of locks, by number.
    owners: BTreeMap<i32, Weak<LockOwner>>,
    /// Whether a task watches them.
    is_watched: bool,
}

impl Nlm {
    fn table(&self) -> MutexGuard<'_, Table> {
        self.table.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Adds an owner of locks; `true` if the caller must start a task that watches them.
    pub(super) fn add(&self, owner: &Arc<LockOwner>) -> bool {
        let mut table = self.table();
        table.owners.insert(owner.svid(), Arc::downgrade(owner));
        !std::mem::replace(&mut table.is_watched, true)
    }

    pub(super) fn remove(&self, svid: i32) {
        self.table().owners.remove(&svid);
    }

    /// The owners of locks. If there are none, the caller must stop watching.
    pub(super) fn watched(&self) -> Vec<Arc<LockOwner>> {
        let mut table = self.table();
        table.owners.retain(|_, owner| owner.strong_count() > 0);
        table.is_watched = !table.owners.is_empty();
        table.owners.values().filter_map(Weak::upgrade).collect()
    }
}
