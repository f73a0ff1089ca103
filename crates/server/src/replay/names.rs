//! The names under change: one call at a time changes a name, from its look at the files until its reply is in the log.
//!
//! Otherwise, another client could change a name between the record of a call and its execution, or between that and
//! the record of its reply. After a kill at that point, the restarted server would attribute the other client's change
//! to the call.

use std::hash::{BuildHasher, RandomState};
use std::sync::atomic::{AtomicBool, Ordering};

use state::FileKey;

/// The size of the table. Names that share a slot occasionally wait for each other.
const SLOTS: usize = 4096;

/// The names under change.
#[derive(Debug)]
pub(crate) struct NameSlots {
    slots: Box<[AtomicBool]>,
    hasher: RandomState,
}

/// The table index of a name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct NameSlot(usize);

impl NameSlots {
    pub(crate) fn new() -> NameSlots {
        NameSlots { slots: (0..SLOTS).map(|_| AtomicBool::new(false)).collect(), hasher: RandomState::new() }
    }

    /// The slot of the name `name` in `dir`.
    pub(crate) fn slot(&self, dir: &FileKey, name: &[u8]) -> NameSlot {
        NameSlot(self.hasher.hash_one((dir, name)) as usize % SLOTS)
    }

    /// Takes a slot unless it is taken.
    pub(crate) fn try_take(&self, slot: NameSlot) -> bool {
        !self.slots[slot.0].swap(true, Ordering::Acquire)
    }

    /// Releases a slot.
    pub(crate) fn release(&self, slot: NameSlot) {
        self.slots[slot.0].store(false, Ordering::Release);
    }
}

#[cfg(test)]
mod tests {
    use vfs::Handle;

    use super::*;

    #[test]
    fn name_is_taken_by_one_at_a_time() {
        let names = NameSlots::new();
        let slot = names.slot(&FileKey { export: 1, node: Handle::from_u64(1) }, b"name");
        assert!(names.try_take(slot));
        assert!(!names.try_take(slot));
        names.release(slot);
        assert!(names.try_take(slot));
    }
}
