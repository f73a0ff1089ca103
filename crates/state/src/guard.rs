//! The files with a share reservation or a delegation that may conflict with an access without an open.
//!
//! Most files have neither, and a READ of one takes only one shard's read lock.

use std::hash::BuildHasher;
use std::sync::RwLock;
use std::sync::atomic::{AtomicUsize, Ordering};

use foldhash::fast::RandomState;

use crate::sync::{read, write};
use crate::{DelegationKind, FileKey, ShareDeny};

const SHARDS: usize = 64;

/// The conflicts of an access without an open.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Guard {
    pub deny: ShareDeny,
    pub delegated: Option<DelegationKind>,
}

#[derive(Debug)]
pub(crate) struct GuardTable {
    shards: Vec<RwLock<foldhash::HashMap<FileKey, Guard>>>,
    hasher: RandomState,
    guarded: AtomicUsize,
}

impl GuardTable {
    pub(crate) fn new() -> GuardTable {
        GuardTable {
            shards: (0..SHARDS).map(|_| RwLock::default()).collect(),
            hasher: RandomState::default(),
            guarded: AtomicUsize::new(0),
        }
    }

    #[inline]
    pub(crate) fn get(&self, file: &FileKey) -> Guard {
        if self.guarded.load(Ordering::Acquire) == 0 {
            return Guard::default();
        }
        read(self.shard(file)).get(file).copied().unwrap_or_default()
    }

    pub(crate) fn set(&self, file: &FileKey, guard: Guard) {
        // Only the holder of the state's mutex changes the table.
        if guard == Guard::default() && self.guarded.load(Ordering::Acquire) == 0 {
            return;
        }
        let mut shard = write(self.shard(file));
        let was = match guard == Guard::default() {
            true => shard.remove(file).is_some(),
            false => shard.insert(*file, guard).is_some(),
        };
        match (was, guard == Guard::default()) {
            (false, false) => self.guarded.fetch_add(1, Ordering::AcqRel),
            (true, true) => self.guarded.fetch_sub(1, Ordering::AcqRel),
            _ => 0,
        };
    }

    fn shard(&self, file: &FileKey) -> &RwLock<foldhash::HashMap<FileKey, Guard>> {
        &self.shards[self.hasher.hash_one(file) as usize % SHARDS]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn file_without_guard_leaves_no_entry() {
        let table = GuardTable::new();
        let file = FileKey { export: 1, node: vfs::Handle::from_u64(7) };
        table.set(&file, Guard { deny: ShareDeny::READ, delegated: None });
        assert_eq!(table.get(&file).deny, ShareDeny::READ);
        table.set(&file, Guard::default());
        assert_eq!(table.guarded.load(Ordering::Acquire), 0);
        assert_eq!(table.get(&file), Guard::default());
    }
}
