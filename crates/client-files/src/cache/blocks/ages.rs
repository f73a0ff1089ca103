//! Finds the oldest changes of a file, and those to send next, without looking at each of its dirty blocks.

use std::collections::BTreeSet;
use std::ops::Range;

/// The number of the oldest change of a block in each state, or `u64::MAX` if there is none.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct BlockAges {
    pub(super) unsent: u64,
    /// Unsent or being written.
    pub(super) unwritten: u64,
    pub(super) unstable: u64,
    pub(super) committing: u64,
}

impl BlockAges {
    /// Those of a block without changes.
    pub(super) const CLEAN: BlockAges =
        BlockAges { unsent: u64::MAX, unwritten: u64::MAX, unstable: u64::MAX, committing: u64::MAX };

    /// Whether old changes have come further towards the server since `before`, or are given up.
    pub(super) fn have_advanced(&self, before: &BlockAges) -> bool {
        let dirty = |ages: &BlockAges| ages.unwritten.min(ages.unstable).min(ages.committing);
        self.unwritten > before.unwritten || dirty(self) > dirty(before)
    }
}

/// The ages of all blocks of a file, by the indexes of the blocks in the file.
#[derive(Debug, Default)]
pub(super) struct FileAges {
    unsent: BTreeSet<u64>,
    unwritten: Oldest,
    unstable: Oldest,
    committing: Oldest,
}

impl FileAges {
    /// Notes what became of a block that was counted with the ages `before`.
    pub(super) fn update(&mut self, index: u64, before: &BlockAges, now: &BlockAges) {
        match (before.unsent == u64::MAX, now.unsent == u64::MAX) {
            (true, false) => drop(self.unsent.insert(index)),
            (false, true) => drop(self.unsent.remove(&index)),
            _ => {}
        }
        self.unwritten.update(index, before.unwritten, now.unwritten);
        self.unstable.update(index, before.unstable, now.unstable);
        self.committing.update(index, before.committing, now.committing);
    }

    /// The blocks with unsent changes.
    pub(super) fn unsent(&self, indexes: Range<u64>) -> impl Iterator<Item = u64> {
        self.unsent.range(indexes).copied()
    }

    /// Whether a block other than `index` has unsent changes.
    pub(super) fn has_unsent_besides(&self, index: u64) -> bool {
        self.unsent.len() > usize::from(self.unsent.contains(&index))
    }

    /// Whether WRITEs in flight carry all that is dirty.
    pub(super) fn are_all_writing(&self) -> bool {
        self.unsent.is_empty() && self.unstable.0.is_empty() && self.committing.0.is_empty()
    }

    /// The number of the oldest change that has not reached the server, or `u64::MAX`.
    pub(super) fn oldest_unwritten(&self) -> u64 {
        self.unwritten.first()
    }

    /// The number of the oldest change that only the server's memory has and no COMMIT is for, or `u64::MAX`.
    pub(super) fn oldest_unstable(&self) -> u64 {
        self.unstable.first()
    }

    /// The number of the oldest change that the server may still lose, or `u64::MAX`.
    pub(super) fn oldest_dirty(&self) -> u64 {
        self.unwritten.first().min(self.unstable.first()).min(self.committing.first())
    }
}

/// Change numbers and blocks, oldest first.
#[derive(Debug, Default)]
struct Oldest(BTreeSet<(u64, u64)>);

impl Oldest {
    fn update(&mut self, index: u64, before: u64, now: u64) {
        if before == now {
            return;
        }
        if before != u64::MAX {
            self.0.remove(&(before, index));
        }
        if now != u64::MAX {
            self.0.insert((now, index));
        }
    }

    fn first(&self) -> u64 {
        self.0.first().map_or(u64::MAX, |(since, _)| *since)
    }
}
