//! The byte-range locks of one file, with POSIX rules: an owner's locks of one kind merge, and a new one replaces what
//! it covers (RFC 8881 §9.1, §18.10.3).
//!
//! Two indices, by owner and first byte and by range, ensure that each request only visits locks that it changes or
//! reports.

use std::collections::BTreeMap;

use crate::ByteRange;
use crate::ids::{OwnerId, StateKey};
use crate::range_tree::RangeTree;

/// One locked range.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct HeldLock {
    pub owner: OwnerId,
    pub range: ByteRange,
    pub exclusive: bool,
    /// The lock stateid; `None` for the lock protocol.
    pub state: Option<StateKey>,
}

impl HeldLock {
    /// Whether a lock that `owner` requests conflicts with this one.
    pub(crate) fn conflicts(&self, owner: OwnerId, range: ByteRange, exclusive: bool) -> bool {
        self.owner != owner && (self.exclusive || exclusive) && self.range.overlaps(range)
    }
}

/// A range that the host must lock on behalf of all owners.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct HostRange {
    /// The range.
    pub range: ByteRange,
    /// Whether the lock is exclusive.
    pub exclusive: bool,
}

/// The parts of a lock besides its owner and first byte.
#[derive(Debug, Clone, Copy)]
struct Tail {
    last: u64,
    exclusive: bool,
    state: Option<StateKey>,
}

/// The locks of a file. No two locks of one owner overlap, and all of them have the same state. An exclusive lock
/// overlaps with no other.
#[derive(Debug, Default)]
pub(crate) struct LockSet {
    by_owner: BTreeMap<(OwnerId, u64), Tail>,
    shared: RangeTree,
    exclusive: RangeTree,
    /// The number of locks of the lock protocol.
    stateless: usize,
}

impl LockSet {
    pub(crate) fn len(&self) -> usize {
        self.by_owner.len()
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.by_owner.is_empty()
    }

    /// The locks that a lock of `owner` would conflict with: exclusive ones first, then shared ones.
    pub(crate) fn conflicts(
        &self,
        owner: OwnerId,
        range: ByteRange,
        exclusive: bool,
    ) -> impl Iterator<Item = HeldLock> {
        let shared = exclusive.then(|| self.shared.of_others(owner, range)).into_iter().flatten();
        self.exclusive.of_others(owner, range).chain(shared).filter_map(|(owner, range)| self.get(owner, range.first()))
    }

    /// The conflict with the lowest first byte.
    pub(crate) fn first_conflict(&self, owner: OwnerId, range: ByteRange, exclusive: bool) -> Option<HeldLock> {
        let in_exclusive = self.exclusive.of_others(owner, range).next();
        let in_shared = exclusive.then(|| self.shared.of_others(owner, range).next()).flatten();
        let (owner, range) = in_exclusive.into_iter().chain(in_shared).min_by_key(|(_, range)| range.first())?;
        self.get(owner, range.first())
    }

    pub(crate) fn has_owner(&self, owner: OwnerId) -> bool {
        self.state_of(owner).is_some()
    }

    /// Whether `owner` has locks under `state`.
    pub(crate) fn has_state(&self, owner: OwnerId, state: StateKey) -> bool {
        self.state_of(owner) == Some(Some(state))
    }

    /// The first locks of `owner` that begin in `range`: their number, up to `at_most`, and the part of the range up to
    /// the end of the last one.
    pub(crate) fn first_of(&self, owner: OwnerId, range: ByteRange, at_most: usize) -> Option<(usize, ByteRange)> {
        let locks = self.by_owner.range((owner, range.first())..=(owner, range.last())).take(at_most);
        let (count, last) = locks.fold((0, None), |(count, _), (_, tail)| (count + 1, Some(tail.last)));
        Some((count, ByteRange::inclusive(range.first(), last?.min(range.last()))?))
    }

    /// Whether there are locks of the lock protocol.
    pub(crate) fn has_stateless(&self) -> bool {
        self.stateless > 0
    }

    /// The number of additional locks after `owner` unlocks `range`: unlocking the middle of a lock leaves two.
    pub(crate) fn growth_without(&self, owner: OwnerId, range: ByteRange) -> usize {
        // The first lock of a file costs no search.
        if self.is_empty() {
            return 0;
        }
        let before = self.by_owner.range((owner, 0)..(owner, range.first())).next_back();
        usize::from(before.is_some_and(|(_, tail)| tail.last > range.last()))
    }

    /// Locks a range, and replaces the owner's locks in it.
    pub(crate) fn set(&mut self, mut lock: HeldLock) {
        debug_assert!(
            self.state_of(lock.owner).is_none_or(|state| state == lock.state),
            "one state of an owner and file"
        );
        if self.is_empty() {
            return self.insert(lock);
        }
        self.clear(lock.owner, lock.range);
        for other in self.beside(&lock).into_iter().flatten() {
            if other.exclusive == lock.exclusive && other.range.touches(lock.range) {
                self.remove(&other);
                lock.range = lock.range.span(other.range);
            }
        }
        self.insert(lock);
    }

    /// Unlocks a range for an owner; returns what was locked there, in order.
    pub(crate) fn clear(&mut self, owner: OwnerId, range: ByteRange) -> Vec<HeldLock> {
        let mut unlocked = Vec::new();
        while let Some(lock) = self.last_overlapping(owner, range) {
            self.remove(&lock);
            for range in lock.range.without(range).into_iter().flatten() {
                self.insert(HeldLock { range, ..lock });
            }
            unlocked.push(HeldLock { range: lock.range.within(range), ..lock });
        }
        unlocked.reverse();
        unlocked
    }

    /// The ranges in `unlocked` that nobody has locked any more.
    pub(crate) fn freed(&self, unlocked: &[HeldLock]) -> Vec<ByteRange> {
        let mut freed = Vec::new();
        for lock in unlocked {
            // An exclusive lock had no other owner in its range.
            let others = (!lock.exclusive).then(|| self.shared.of_others(lock.owner, lock.range));
            freed.extend(gaps(lock.range, others.into_iter().flatten().map(|(_, range)| range)));
        }
        freed
    }

    /// The ranges that the host must lock for all owners together, in order and without overlaps; exclusive where an
    /// exclusive lock is.
    pub(crate) fn coverage(&self) -> Vec<HostRange> {
        let mut ranges = merged(&self.exclusive, true);
        // The two lists are disjoint, since exclusive locks overlap with nothing.
        ranges.extend(merged(&self.shared, false));
        ranges.sort_by_key(|host| host.range);
        ranges
    }

    fn get(&self, owner: OwnerId, first: u64) -> Option<HeldLock> {
        self.by_owner.get(&(owner, first)).and_then(|tail| tail.lock(owner, first))
    }

    fn state_of(&self, owner: OwnerId) -> Option<Option<StateKey>> {
        self.by_owner.range((owner, 0)..=(owner, u64::MAX)).next().map(|(_, tail)| tail.state)
    }

    /// The last of the owner's locks that share a byte with `range`.
    fn last_overlapping(&self, owner: OwnerId, range: ByteRange) -> Option<HeldLock> {
        if self.is_empty() {
            return None;
        }
        let ((_, first), tail) = self.by_owner.range((owner, 0)..=(owner, range.last())).next_back()?;
        tail.lock(owner, *first).filter(|lock| lock.range.last() >= range.first())
    }

    /// The owner's locks before and after one that overlaps with neither.
    fn beside(&self, lock: &HeldLock) -> [Option<HeldLock>; 2] {
        let (first, last) = ((lock.owner, lock.range.first()), (lock.owner, lock.range.last()));
        let before = self.by_owner.range((lock.owner, 0)..first).next_back();
        let behind = self.by_owner.range(last..=(lock.owner, u64::MAX)).next();
        [before, behind].map(|found| found.and_then(|((owner, first), tail)| tail.lock(*owner, *first)))
    }

    fn insert(&mut self, lock: HeldLock) {
        let HeldLock { owner, range, exclusive, state } = lock;
        self.by_owner.insert((owner, range.first()), Tail { last: range.last(), exclusive, state });
        self.ranges(exclusive).insert(owner, range);
        self.stateless += usize::from(state.is_none());
    }

    fn remove(&mut self, lock: &HeldLock) {
        self.by_owner.remove(&(lock.owner, lock.range.first()));
        self.ranges(lock.exclusive).remove(lock.owner, lock.range.first());
        self.stateless -= usize::from(lock.state.is_none());
    }

    fn ranges(&mut self, exclusive: bool) -> &mut RangeTree {
        if exclusive { &mut self.exclusive } else { &mut self.shared }
    }
}

impl Tail {
    fn lock(self, owner: OwnerId, first: u64) -> Option<HeldLock> {
        let range = ByteRange::inclusive(first, self.last)?;
        Some(HeldLock { owner, range, exclusive: self.exclusive, state: self.state })
    }
}

/// The parts of `range` that none of `others`, which are in order of their first bytes, covers.
fn gaps(range: ByteRange, others: impl Iterator<Item = ByteRange>) -> Vec<ByteRange> {
    let mut gaps = Vec::new();
    let mut rest = Some(range);
    for other in others {
        let Some(open) = rest else { break };
        if open.overlaps(other) {
            let [before, behind] = open.without(other);
            gaps.extend(before);
            rest = behind;
        }
    }
    gaps.extend(rest);
    gaps
}

fn merged(ranges: &RangeTree, exclusive: bool) -> Vec<HostRange> {
    let mut merged: Vec<HostRange> = Vec::new();
    for (_, range) in ranges.of_others(OwnerId::NOBODY, ByteRange::WHOLE) {
        match merged.last_mut() {
            Some(last) if last.range.touches(range) => last.range = last.range.span(range),
            _ => merged.push(HostRange { range, exclusive }),
        }
    }
    merged
}

#[cfg(test)]
mod model;

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
        let locks = set.by_owner.iter();
        locks.map(|((owner, first), tail)| (owner.0, *first, tail.last, tail.exclusive)).collect()
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
