//! Locked ranges of a file, as the kernel keeps those of one open file description: they do not overlap, a new one
//! replaces what it covers, and neighbours of one kind merge.

use std::collections::BTreeMap;

use vfs::FileLock;

/// By first byte: the last one, and whether exclusive. No range reaches `u64::MAX`.
#[derive(Debug, Default, Clone, PartialEq, Eq)]
pub(crate) struct LockRanges {
    ranges: BTreeMap<u64, (u64, bool)>,
}

impl LockRanges {
    pub(crate) fn len(&self) -> usize {
        self.ranges.len()
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.ranges.is_empty()
    }

    /// Those that share a byte with `first` to `last`, in order.
    pub(crate) fn overlapping(&self, first: u64, last: u64) -> impl Iterator<Item = FileLock> {
        let before = self.before(first).filter(|lock| lock.last_bytes >= first);
        let within = (first <= last).then(|| self.ranges.range(first..=last)).into_iter().flatten();
        before.into_iter().chain(within.map(lock))
    }

    /// The one that begins last before `at`, whether or not it reaches it.
    pub(crate) fn before(&self, at: u64) -> Option<FileLock> {
        self.ranges.range(..at).next_back().map(lock)
    }

    /// The first one that begins behind `at`.
    pub(crate) fn behind(&self, at: u64) -> Option<FileLock> {
        self.ranges.range(at.saturating_add(1)..).next().map(lock)
    }

    /// How many of those that share a byte with `first` to `last` reach beyond it, counted at both ends.
    pub(crate) fn cuts(&self, first: u64, last: u64) -> usize {
        let ends = self.overlapping(first, first).chain(self.overlapping(last, last));
        let beyond = |lock: FileLock| [lock.first_bytes < first, lock.last_bytes > last];
        let cuts = ends.map(beyond).fold([false, false], |sum, beyond| [sum[0] | beyond[0], sum[1] | beyond[1]]);
        cuts.into_iter().filter(|cut| *cut).count()
    }

    /// The pieces of `first` to `last` that are not locked, or only shared when `exclusive` is asked for.
    pub(crate) fn missing(&self, wanted: FileLock) -> Vec<FileLock> {
        let mut missing = Vec::new();
        let mut from = wanted.first_bytes;
        let held = self.overlapping(wanted.first_bytes, wanted.last_bytes);
        for held in held.filter(|held| held.exclusive || !wanted.exclusive) {
            if held.first_bytes > from {
                missing.push(FileLock { first_bytes: from, last_bytes: held.first_bytes - 1, ..wanted });
            }
            from = held.last_bytes + 1;
        }
        if from <= wanted.last_bytes {
            missing.push(FileLock { first_bytes: from, ..wanted });
        }
        missing
    }

    pub(crate) fn set(&mut self, mut wanted: FileLock) {
        self.clear(wanted.first_bytes, wanted.last_bytes);
        let before = self.before(wanted.first_bytes).filter(|lock| lock.last_bytes + 1 == wanted.first_bytes);
        let behind = self.behind(wanted.last_bytes).filter(|lock| lock.first_bytes == wanted.last_bytes + 1);
        for neighbour in [before, behind].into_iter().flatten().filter(|lock| lock.exclusive == wanted.exclusive) {
            self.ranges.remove(&neighbour.first_bytes);
            wanted.first_bytes = wanted.first_bytes.min(neighbour.first_bytes);
            wanted.last_bytes = wanted.last_bytes.max(neighbour.last_bytes);
        }
        self.insert(wanted);
    }

    pub(crate) fn clear(&mut self, first: u64, last: u64) {
        if self.is_empty() {
            return;
        }
        let hit: Vec<FileLock> = self.overlapping(first, last).collect();
        for lock in hit {
            self.ranges.remove(&lock.first_bytes);
            if lock.first_bytes < first {
                self.insert(FileLock { last_bytes: first - 1, ..lock });
            }
            if lock.last_bytes > last {
                self.insert(FileLock { first_bytes: last + 1, ..lock });
            }
        }
    }

    fn insert(&mut self, lock: FileLock) {
        self.ranges.insert(lock.first_bytes, (lock.last_bytes, lock.exclusive));
    }
}

fn lock((first, (last, exclusive)): (&u64, &(u64, bool))) -> FileLock {
    FileLock { first_bytes: *first, last_bytes: *last, exclusive: *exclusive }
}
