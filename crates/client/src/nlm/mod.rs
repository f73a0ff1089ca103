//! Locks of NFSv2 and NFSv3, through the server's lock manager (NLM; RFC 1813 appendix II).
//!
//! No lock is waited for at the server: whoever waits asks again, and so nothing here has to be called back. That the server
//! restarted is found out by looking whether it still has a lock that is held here; then all are reclaimed. See
//! decision 14.

mod ask;
mod call;
mod link;
mod owner;
mod recovery;

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicI32, AtomicU64, Ordering};
use std::sync::{Arc, LazyLock, Mutex, MutexGuard, PoisonError, Weak};

use crate::connection::random;
pub(crate) use ask::has_lock_manager;
use link::Link;
pub(crate) use owner::FileLocks;
use owner::LockOwner;

/// The number of the next owner: the server takes it for that of a process, and no two owners of this host may have the same.
/// The first is any number, so that those of other processes here are others.
static NEXT_SVID: LazyLock<AtomicI32> = LazyLock::new(|| AtomicI32::new((random() >> 1) as i32));

/// A mount's side of the lock manager.
#[derive(Debug, Default)]
pub(crate) struct Nlm {
    link: tokio::sync::Mutex<Option<Link>>,
    /// How many ways to the lock manager were found so far.
    links: AtomicU64,
    table: Mutex<Table>,
}

#[derive(Debug, Default)]
struct Table {
    /// Who has locks, by number.
    owners: BTreeMap<i32, Weak<LockOwner>>,
    /// Whether a task looks after them.
    is_watched: bool,
}

impl Nlm {
    fn table(&self) -> MutexGuard<'_, Table> {
        self.table.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Notes that somebody has locks; true if a task has to be started that looks after them.
    fn add(&self, owner: &Arc<LockOwner>) -> bool {
        let mut table = self.table();
        table.owners.insert(owner.svid(), Arc::downgrade(owner));
        !std::mem::replace(&mut table.is_watched, true)
    }

    fn remove(&self, svid: i32) {
        self.table().owners.remove(&svid);
    }

    /// Those who have locks. When there are none, whoever asks looks after them no more.
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
