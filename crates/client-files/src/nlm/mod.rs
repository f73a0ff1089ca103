//! Locks of NFSv2 and NFSv3, through the server's lock manager (NLM; RFC 1813 appendix II).
//!
//! No call waits for a lock at the server: waiters ask again, so that the server never calls back. A restart of the
//! server is detected by testing for a lock held here; if that is lost, all locks are reclaimed. See decision 14.
//!
//! This file, `ask.rs`, `owner.rs`, `recovery.rs` and `mount/mod.rs` use each other: a mount keeps the owners of its
//! locks, so that all are reclaimed together, and each owner calls through its mount.

mod ask;
mod call;
mod link;
mod owner;
mod recovery;

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicI32, AtomicU64, Ordering};
use std::sync::{Arc, LazyLock, Mutex, MutexGuard, PoisonError, Weak};

use client_calls::random;

pub(crate) use ask::has_lock_manager;
use link::Link;
pub(crate) use owner::FileLocks;
use owner::LockOwner;

/// The number of the next owner, which the server takes for a process id. No two owners of this host may share one, so
/// the first is random, and other processes have others.
static NEXT_SVID: LazyLock<AtomicI32> = LazyLock::new(|| AtomicI32::new((random() >> 1) as i32));

/// A mount's side of the lock manager.
#[derive(Debug, Default)]
pub(crate) struct Nlm {
    link: tokio::sync::Mutex<Option<Link>>,
    /// How many links were found so far.
    links: AtomicU64,
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
    fn add(&self, owner: &Arc<LockOwner>) -> bool {
        let mut table = self.table();
        table.owners.insert(owner.svid(), Arc::downgrade(owner));
        !std::mem::replace(&mut table.is_watched, true)
    }

    fn remove(&self, svid: i32) {
        self.table().owners.remove(&svid);
    }

    /// The owners of locks. If there are none, the caller must stop watching.
    fn watched(&self) -> Vec<Arc<LockOwner>> {
        let mut table = self.table();
        table.owners.retain(|_, owner| owner.strong_count() > 0);
        table.is_watched = !table.owners.is_empty();
        table.owners.values().filter_map(Weak::upgrade).collect()
    }
}

fn next_svid() -> i32 {
    NEXT_SVID.fetch_add(1, Ordering::Relaxed) & i32::MAX
}
