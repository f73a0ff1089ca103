//! Detects whether another change of a file happened between the attributes before and after a change.
//!
//! A client keeps its cache if the attributes *before* equal its cached ones: it takes those *after* as the effect of
//! its own call (RFC 1813 §2.6, weak cache consistency). That would hide another client's change that happened between
//! the two. So each change, by any version, is announced in a table by file, and a reply omits the attributes before if
//! changes of the file overlapped. No lock is taken and nothing waits.

use std::hash::BuildHasher;
use std::sync::atomic::{AtomicU64, Ordering};

use foldhash::fast::RandomState;
use vfs::Handle;

/// The size of the table. Two files that share an entry occasionally cost a client its cached attributes.
const SLOTS: usize = 1024;

/// One finished change, counted in the upper half of an entry; the lower half counts changes in progress.
const FINISHED: u64 = 1 << 32;

/// The changes in progress, by file.
#[derive(Debug)]
pub(crate) struct ChangesInProgress {
    slots: Box<[AtomicU64]>,
    hasher: RandomState,
}

/// One change in progress; it ends when this is dropped.
#[derive(Debug)]
pub(crate) struct ChangeInProgress<'c> {
    slot: &'c AtomicU64,
    at_begin: u64,
}

impl ChangesInProgress {
    pub(crate) fn new() -> ChangesInProgress {
        ChangesInProgress { slots: (0..SLOTS).map(|_| AtomicU64::new(0)).collect(), hasher: RandomState::default() }
    }

    /// Announces a change of `node`, which ends when the result is dropped. Take the attributes before after this call.
    pub(crate) fn begin(&self, node: &Handle) -> ChangeInProgress<'_> {
        let slot = &self.slots[self.hasher.hash_one(node) as usize % SLOTS];
        ChangeInProgress { slot, at_begin: slot.fetch_add(1, Ordering::AcqRel) }
    }
}

/// A moment between two changes of a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct BetweenChanges(u64);

impl ChangeInProgress<'_> {
    /// The moment right before this change.
    pub(crate) fn before(&self) -> BetweenChanges {
        BetweenChanges(self.at_begin)
    }

    /// The moment right after this change, if no other one overlaps it.
    pub(crate) fn after(&self) -> BetweenChanges {
        BetweenChanges(self.at_begin.wrapping_add(FINISHED))
    }

    /// Whether no other change has overlapped this one so far. Call it after taking the attributes after.
    pub(crate) fn was_alone(&self) -> bool {
        let nobody_before = self.at_begin & (FINISHED - 1) == 0;
        nobody_before && self.slot.load(Ordering::Acquire) == self.at_begin.wrapping_add(1)
    }
}

impl Drop for ChangeInProgress<'_> {
    fn drop(&mut self) {
        self.slot.fetch_add(FINISHED - 1, Ordering::AcqRel);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn changes_one_after_the_other_are_alone() {
        let changes = ChangesInProgress::new();
        for _ in 0..3 {
            assert!(changes.begin(&Handle::from_u64(1)).was_alone());
        }
    }

    #[test]
    fn change_ends_right_before_the_next_one_unless_another_is_in_between() {
        let changes = ChangesInProgress::new();
        let begin = || changes.begin(&Handle::from_u64(1));
        let first = begin();
        let after = first.after();
        drop(first);
        assert_eq!(begin().before(), after);
        assert_ne!(begin().before(), after, "the look above was a change in between");
        let (first, other) = (begin(), begin());
        let after = first.after();
        drop(first);
        assert_ne!(begin().before(), after, "another change goes on");
        drop(other);
        assert_ne!(begin().before(), after, "another change has ended since");
    }

    #[test]
    fn overlapping_changes_of_one_file_are_not_alone() {
        let changes = ChangesInProgress::new();
        let first = changes.begin(&Handle::from_u64(1));
        let second = changes.begin(&Handle::from_u64(1));
        assert!(!first.was_alone() && !second.was_alone());
        drop(second);
        assert!(!first.was_alone(), "the second change fell into the first");
        drop(first);
        assert!(changes.begin(&Handle::from_u64(1)).was_alone());
    }
}
