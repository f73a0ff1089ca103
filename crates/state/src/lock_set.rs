//! The byte-range locks of one file, with POSIX rules: an owner's locks of one kind merge, a new one replaces what it
//! covers (RFC 8881 §9.1, §18.10.3).

use crate::ByteRange;
use crate::ids::StateKey;
use crate::owner::OwnerId;

/// One locked range.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct HeldLock {
    pub owner: OwnerId,
    pub range: ByteRange,
    pub exclusive: bool,
    /// The lock stateid; none for the lock protocol.
    pub state: Option<StateKey>,
}

impl HeldLock {
    /// Whether a lock that `owner` wants conflicts with this one.
    pub(crate) fn conflicts(&self, owner: OwnerId, range: ByteRange, exclusive: bool) -> bool {
        self.owner != owner && (self.exclusive || exclusive) && self.range.overlaps(range)
    }
}

/// A range that the host must hold on behalf of all owners.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct HostRange {
    /// The range.
    pub range: ByteRange,
    /// Whether exclusively.
    pub exclusive: bool,
}

/// Ordered by first byte.
#[derive(Debug, Clone, Default)]
pub(crate) struct LockSet {
    locks: Vec<HeldLock>,
}

impl LockSet {
    pub(crate) fn len(&self) -> usize {
        self.locks.len()
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.locks.is_empty()
    }

    /// The locks that a lock of `owner` would conflict with.
    pub(crate) fn conflicts(
        &self,
        owner: OwnerId,
        range: ByteRange,
        exclusive: bool,
    ) -> impl Iterator<Item = &HeldLock> {
        let may_overlap = self.locks.partition_point(|lock| lock.range.first() <= range.last());
        self.locks[..may_overlap].iter().filter(move |lock| lock.conflicts(owner, range, exclusive))
    }

    pub(crate) fn has_state(&self, state: StateKey) -> bool {
        self.locks.iter().any(|lock| lock.state == Some(state))
    }

    pub(crate) fn has_owner(&self, owner: OwnerId) -> bool {
        self.locks.iter().any(|lock| lock.owner == owner)
    }

    /// Whether there are locks of the lock protocol.
    pub(crate) fn has_stateless(&self) -> bool {
        self.locks.iter().any(|lock| lock.state.is_none())
    }

    /// Locks a range, in place of what the owner had there.
    pub(crate) fn set(&mut self, mut lock: HeldLock) {
        self.clear(lock.owner, lock.range);
        self.locks.retain(|other| {
            let merges = other.owner == lock.owner
                && other.exclusive == lock.exclusive
                && other.state == lock.state
                && other.range.touches(lock.range);
            if merges {
                lock.range = lock.range.span(other.range);
            }
            !merges
        });
        self.insert(lock);
    }

    /// Unlocks a range of an owner's.
    pub(crate) fn clear(&mut self, owner: OwnerId, range: ByteRange) {
        let mut pieces = Vec::new();
        self.locks.retain(|lock| {
            let hit = lock.owner == owner && lock.range.overlaps(range);
            if hit {
                pieces.extend(lock.range.without(range).into_iter().flatten().map(|range| HeldLock { range, ..*lock }));
            }
            !hit
        });
        pieces.into_iter().for_each(|piece| self.insert(piece));
    }

    /// Unlocks everything under a stateid.
    pub(crate) fn clear_state(&mut self, state: StateKey) {
        self.locks.retain(|lock| lock.state != Some(state));
    }

    fn insert(&mut self, lock: HeldLock) {
        let at = self.locks.partition_point(|other| other.range.first() <= lock.range.first());
        self.locks.insert(at, lock);
    }

    /// What the host must hold for all owners together: ranges in order that do not overlap, exclusive wherever an
    /// exclusive lock is.
    pub(crate) fn coverage(&self) -> Vec<HostRange> {
        let of = |exclusive: bool| {
            let mut merged: Vec<ByteRange> = Vec::new();
            for lock in self.locks.iter().filter(|lock| lock.exclusive == exclusive) {
                match merged.last_mut() {
                    Some(last) if last.touches(lock.range) => *last = last.span(lock.range),
                    _ => merged.push(lock.range),
                }
            }
            merged
        };
        // Locks of different owners overlap only where both are shared, and one owner's never do: so the two lists
        // are disjoint.
        let mut ranges: Vec<HostRange> =
            of(true).into_iter().map(|range| HostRange { range, exclusive: true }).collect();
        ranges.extend(of(false).into_iter().map(|range| HostRange { range, exclusive: false }));
        ranges.sort_by_key(|host| host.range);
        ranges
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn range(first: u64, last: u64) -> ByteRange {
        ByteRange::inclusive(first, last).unwrap()
    }

    fn lock(owner: u64, first: u64, last: u64, exclusive: bool) -> HeldLock {
        HeldLock { owner: OwnerId(owner), range: range(first, last), exclusive, state: None }
    }

    fn ranges(set: &LockSet) -> Vec<(u64, u64, u64, bool)> {
        set.locks.iter().map(|l| (l.owner.0, l.range.first(), l.range.last(), l.exclusive)).collect()
    }

    #[test]
    fn overlapping_and_adjacent_locks_of_one_kind_merge() {
        let mut set = LockSet::default();
        set.set(lock(1, 25, 99, true));
        set.set(lock(1, 50, 124, true));
        set.set(lock(1, 125, 130, true));
        assert_eq!(ranges(&set), [(1, 25, 130, true)]);
    }

    #[test]
    fn downgrade_in_the_middle_splits() {
        let mut set = LockSet::default();
        set.set(lock(1, 0, 99, true));
        set.set(lock(1, 40, 59, false));
        assert_eq!(ranges(&set), [(1, 0, 39, true), (1, 40, 59, false), (1, 60, 99, true)]);
    }

    #[test]
    fn unlock_in_the_middle_splits() {
        let mut set = LockSet::default();
        set.set(lock(1, 0, 99, true));
        set.clear(OwnerId(1), range(40, 59));
        assert_eq!(ranges(&set), [(1, 0, 39, true), (1, 60, 99, true)]);
    }

    #[test]
    fn unlock_leaves_other_owners_alone() {
        let mut set = LockSet::default();
        set.set(lock(1, 0, 99, false));
        set.set(lock(2, 0, 99, false));
        set.clear(OwnerId(1), ByteRange::WHOLE);
        assert_eq!(ranges(&set), [(2, 0, 99, false)]);
    }

    #[test]
    fn shared_locks_conflict_only_with_exclusive_ones() {
        let mut set = LockSet::default();
        set.set(lock(1, 10, 19, false));
        assert_eq!(set.conflicts(OwnerId(2), range(0, 10), false).count(), 0);
        assert_eq!(set.conflicts(OwnerId(2), range(0, 10), true).count(), 1);
        assert_eq!(set.conflicts(OwnerId(2), range(20, 30), true).count(), 0);
        assert_eq!(set.conflicts(OwnerId(1), range(0, 100), true).count(), 0);
    }

    #[test]
    fn host_holds_the_union_of_all_owners() {
        let mut set = LockSet::default();
        set.set(lock(1, 0, 9, false));
        set.set(lock(2, 5, 19, false));
        set.set(lock(1, 20, 29, true));
        set.set(lock(2, u64::MAX, u64::MAX, true));
        let host = |first, last, exclusive| HostRange { range: range(first, last), exclusive };
        assert_eq!(set.coverage(), [host(0, 19, false), host(20, 29, true), host(u64::MAX, u64::MAX, true)]);
    }
}
