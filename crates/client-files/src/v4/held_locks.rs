use std::collections::BTreeMap;

use proto::nfs4::LockType;

/// A byte range as LOCK encodes it: a length of all ones reaches to the end of the file (RFC 8881 §18.10.3).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct HeldLock {
    pub(crate) kind: LockType,
    pub(crate) offset: u64,
    /// The offset behind the last byte; `None` for the end of the file.
    end: Option<u64>,
}

impl HeldLock {
    pub(crate) fn new(kind: LockType, offset: u64, length: u64) -> HeldLock {
        let end = if length == u64::MAX { None } else { offset.checked_add(length) };
        HeldLock { kind, offset, end }
    }

    pub(crate) fn length(&self) -> u64 {
        self.end.map_or(u64::MAX, |end| end - self.offset)
    }

    /// All bytes, to be unlocked.
    pub(crate) fn everything() -> HeldLock {
        HeldLock { kind: LockType::Write, offset: 0, end: None }
    }

    pub(crate) fn is_exclusive(&self) -> bool {
        matches!(self.kind, LockType::Write | LockType::WriteWait)
    }

    pub(crate) fn as_exclusive(self) -> HeldLock {
        HeldLock { kind: LockType::Write, ..self }
    }

    /// The parts of it that no range in `others` covers.
    pub(crate) fn gaps_between(self, others: &[HeldLock]) -> Vec<HeldLock> {
        others.iter().fold(vec![self], |gaps, other| gaps.into_iter().flat_map(|gap| gap.without(other)).collect())
    }

    /// The part of it inside `range`.
    fn within(self, range: &HeldLock) -> Option<HeldLock> {
        let offset = self.offset.max(range.offset);
        let end = [self.end, range.end].into_iter().flatten().min();
        end.is_none_or(|end| offset < end).then_some(HeldLock { offset, end, ..self })
    }

    /// What is left of it in front of `other` and behind it.
    fn without(self, other: &HeldLock) -> impl Iterator<Item = HeldLock> {
        let is_past = |end: Option<u64>, offset: u64| end.is_some_and(|end| end <= offset);
        let is_apart = is_past(self.end, other.offset) || is_past(other.end, self.offset);
        let front = (self.offset < other.offset).then_some(HeldLock { end: Some(other.offset), ..self });
        let behind = other.end.filter(|end| self.end.is_none_or(|mine| *end < mine));
        let behind = behind.map(|offset| HeldLock { offset, ..self });
        let [first, second] = if is_apart { [Some(self), None] } else { [front, behind] };
        first.into_iter().chain(second)
    }
}

/// Ranges that do not overlap, by offset, so that a change visits only the ranges near it.
#[derive(Debug, Default)]
struct Ranges(BTreeMap<u64, HeldLock>);

impl Ranges {
    fn meeting(&self, range: &HeldLock) -> impl Iterator<Item = &HeldLock> {
        let before = self.0.range(..range.offset).next_back();
        let behind = self.0.range(range.offset..).take_while(|(offset, _)| range.end.is_none_or(|end| **offset < end));
        before.into_iter().chain(behind).map(|(_, held)| held)
    }

    fn remove(&mut self, range: &HeldLock) {
        let met: Vec<HeldLock> = self.meeting(range).copied().collect();
        for held in met {
            self.0.remove(&held.offset);
            held.without(range).for_each(|rest| self.insert(rest));
        }
    }

    /// Skips an empty range, which servers refuse.
    fn insert(&mut self, lock: HeldLock) {
        if lock.end != Some(lock.offset) {
            self.0.insert(lock.offset, lock);
        }
    }
}

/// The locks of one owner in one file, kept to reclaim them.
#[derive(Debug, Default)]
pub(crate) struct HeldLocks {
    held: Ranges,
    /// Ranges whose unlock the server has not confirmed. They are not reclaimed: the server may have unlocked them, and
    /// others may have locked them since.
    leaving: Ranges,
}

impl HeldLocks {
    /// Adds a lock, which replaces the owner's locks in its range.
    pub(crate) fn insert(&mut self, lock: HeldLock) {
        self.remove(&lock);
        self.held.insert(lock);
    }

    /// Marks a range that the server is about to be asked to unlock.
    pub(crate) fn begin_to_remove(&mut self, range: HeldLock) {
        self.remove(&range);
        self.leaving.insert(range);
    }

    /// Removes an unlocked range.
    pub(crate) fn remove(&mut self, range: &HeldLock) {
        self.held.remove(range);
        self.leaving.remove(range);
    }

    /// The locks held inside a range.
    pub(crate) fn within(&self, range: &HeldLock) -> Vec<HeldLock> {
        self.held.meeting(range).filter_map(|held| held.within(range)).collect()
    }

    pub(crate) fn to_vec(&self) -> Vec<HeldLock> {
        self.held.0.values().copied().collect()
    }

    /// Whether the server certainly has nothing locked.
    pub(crate) fn is_empty(&self) -> bool {
        self.held.0.is_empty() && self.leaving.0.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ranges(locks: &HeldLocks) -> Vec<(u64, u64)> {
        locks.to_vec().iter().map(|lock| (lock.offset, lock.length())).collect()
    }

    fn lock(offset: u64, length: u64) -> HeldLock {
        HeldLock::new(LockType::Write, offset, length)
    }

    #[test]
    fn unlocking_the_middle_leaves_both_ends() {
        let mut locks = HeldLocks::default();
        locks.insert(lock(10, 100));
        locks.remove(&lock(40, 10));
        assert_eq!(ranges(&locks), [(10, 30), (50, 60)]);
        locks.remove(&lock(0, u64::MAX));
        assert!(locks.is_empty());
    }

    #[test]
    fn empty_range_takes_the_place_of_none() {
        let mut locks = HeldLocks::default();
        locks.begin_to_remove(lock(10, 10));
        locks.insert(lock(30, 10));
        locks.begin_to_remove(lock(10, 0));
        locks.begin_to_remove(lock(35, 0));
        assert_eq!(ranges(&locks).iter().map(|(_, length)| length).sum::<u64>(), 10);
        locks.remove(&lock(30, 10));
        assert!(!locks.is_empty(), "10 to 19 may still be locked at the server");
        locks.remove(&lock(15, 5));
        locks.remove(&lock(10, 5));
        assert!(locks.is_empty());
    }

    #[test]
    fn lock_to_the_end_is_cut_in_front_and_goes_on_behind() {
        let mut locks = HeldLocks::default();
        locks.insert(lock(0, u64::MAX));
        locks.insert(HeldLock::new(LockType::Read, 5, 5));
        assert_eq!(ranges(&locks), [(0, 5), (5, 5), (10, u64::MAX)]);
        locks.remove(&lock(7, u64::MAX));
        assert_eq!(ranges(&locks), [(0, 5), (5, 2)]);
    }

    #[test]
    fn what_is_held_of_a_range_and_what_is_not_make_the_range() {
        let mut locks = HeldLocks::default();
        locks.insert(lock(10, 10));
        locks.insert(lock(30, u64::MAX));
        let range = lock(15, 30);
        let within = locks.within(&range);
        let told = |locks: &[HeldLock]| locks.iter().map(|lock| (lock.offset, lock.length())).collect::<Vec<_>>();
        assert_eq!(told(&within), [(15, 5), (30, 15)]);
        assert_eq!(told(&range.gaps_between(&within)), [(20, 10)]);
        assert_eq!(told(&locks.within(&lock(20, 10))), []);
        assert_eq!(told(&HeldLock::everything().gaps_between(&[])), [(0, u64::MAX)]);
    }

    #[test]
    fn what_is_about_to_be_unlocked_is_not_held_and_may_be_locked() {
        let mut locks = HeldLocks::default();
        locks.insert(lock(10, 10));
        locks.begin_to_remove(lock(0, 15));
        assert_eq!(ranges(&locks), [(15, 5)]);
        locks.remove(&lock(15, 5));
        assert!(!locks.is_empty());
        locks.remove(&lock(0, 15));
        assert!(locks.is_empty());
    }

    #[test]
    fn ranges_that_only_touch_are_apart() {
        let mut locks = HeldLocks::default();
        locks.insert(lock(10, 10));
        locks.insert(lock(20, 10));
        locks.remove(&lock(0, 10));
        assert_eq!(ranges(&locks), [(10, 10), (20, 10)]);
    }
}
