//! Whether the attributes before and after a change frame that change alone.
//!
//! A client that sees the attributes it has cached as those *before* takes those *after* as the effect of its own call, and
//! keeps its cache (RFC 1813 §2.6, weak cache consistency). If another client's change fell between the two, that would
//! hide it. So each change announces itself in a table by file, and the attributes before are left out of a reply when
//! another change of the same file was under way. Nothing waits: no lock is taken.

use std::hash::{BuildHasher, RandomState};
use std::sync::atomic::{AtomicU64, Ordering};

use vfs::Handle;

/// How many files are told apart. Two files that share a slot cost each other a cached attribute now and then.
const SLOTS: usize = 1024;

/// One finished change, in the upper half of a slot; changes under way are counted in the lower half.
const FINISHED: u64 = 1 << 32;

/// The changes that are under way, by file.
#[derive(Debug)]
pub(crate) struct Changes {
    slots: Box<[AtomicU64]>,
    hasher: RandomState,
}

/// One change under way; it ends when this is dropped.
#[derive(Debug)]
pub(crate) struct Change<'c> {
    slot: &'c AtomicU64,
    at_begin: u64,
}

impl Changes {
    pub(crate) fn new() -> Changes {
        Changes { slots: (0..SLOTS).map(|_| AtomicU64::new(0)).collect(), hasher: RandomState::new() }
    }

    /// Announces a change of `node`. Its attributes before are to be taken after this.
    pub(crate) fn begin(&self, node: &Handle) -> Change<'_> {
        let slot = &self.slots[self.hasher.hash_one(node) as usize % SLOTS];
        Change { slot, at_begin: slot.fetch_add(1, Ordering::AcqRel) }
    }
}

impl Change<'_> {
    /// Whether no other change overlapped this one so far. To be asked after the attributes after were taken.
    pub(crate) fn was_alone(&self) -> bool {
        let nobody_before = self.at_begin & (FINISHED - 1) == 0;
        nobody_before && self.slot.load(Ordering::Acquire) == self.at_begin + 1
    }
}

impl Drop for Change<'_> {
    fn drop(&mut self) {
        self.slot.fetch_add(FINISHED - 1, Ordering::AcqRel);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn changes_one_after_the_other_are_alone() {
        let changes = Changes::new();
        for _ in 0..3 {
            assert!(changes.begin(&Handle::from_u64(1)).was_alone());
        }
    }

    #[test]
    fn overlapping_changes_of_one_file_are_not_alone() {
        let changes = Changes::new();
        let first = changes.begin(&Handle::from_u64(1));
        let second = changes.begin(&Handle::from_u64(1));
        assert!(!first.was_alone() && !second.was_alone());
        drop(second);
        assert!(!first.was_alone(), "the second change fell into the first");
        drop(first);
        assert!(changes.begin(&Handle::from_u64(1)).was_alone());
    }
}
