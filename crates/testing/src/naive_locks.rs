//! Byte-range locks of one file as a plain list, of which every operation looks at all: slow, and easy to check by
//! reading.

use crate::Random;

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Lock {
    pub owner: u64,
    pub first: u64,
    pub last: u64,
    pub exclusive: bool,
}

impl Lock {
    pub fn overlaps(&self, first: u64, last: u64) -> bool {
        self.first <= last && first <= self.last
    }

    pub fn conflicts(&self, wanted: &Lock) -> bool {
        self.owner != wanted.owner && (self.exclusive || wanted.exclusive) && self.overlaps(wanted.first, wanted.last)
    }

    fn touches(&self, other: &Lock) -> bool {
        self.first <= other.last.saturating_add(1) && other.first <= self.last.saturating_add(1)
    }

    /// What is left on either side of a hole.
    fn without(&self, first: u64, last: u64) -> impl Iterator<Item = Lock> {
        let before = (self.first < first).then(|| Lock { last: first - 1, ..*self });
        let behind = (self.last > last).then(|| Lock { first: last + 1, ..*self });
        before.into_iter().chain(behind)
    }
}

#[derive(Debug, Clone, Default)]
pub struct Locks(pub Vec<Lock>);

impl Locks {
    pub fn set(&mut self, mut lock: Lock) {
        self.clear(lock.owner, lock.first, lock.last);
        self.0.retain(|other| {
            let merges = other.owner == lock.owner && other.exclusive == lock.exclusive && other.touches(&lock);
            if merges {
                (lock.first, lock.last) = (lock.first.min(other.first), lock.last.max(other.last));
            }
            !merges
        });
        self.0.push(lock);
        self.0.sort();
    }

    pub fn clear(&mut self, owner: u64, first: u64, last: u64) {
        let (hit, mut kept): (Vec<Lock>, Vec<Lock>) =
            self.0.iter().partition(|lock| lock.owner == owner && lock.overlaps(first, last));
        kept.extend(hit.iter().flat_map(|lock| lock.without(first, last)));
        kept.sort();
        self.0 = kept;
    }

    /// What all owners together have, as owner 0's: in order and without overlaps, neighbours of one kind as one.
    pub fn coverage(&self) -> Vec<Lock> {
        let mut all = Locks::default();
        for kind in [false, true] {
            self.0.iter().filter(|lock| lock.exclusive == kind).for_each(|lock| all.set(Lock { owner: 0, ..*lock }));
        }
        all.0
    }
}

/// A range among few bytes at either end, so that ranges meet often and at the edges.
pub fn random_range(random: &mut Random) -> (u64, u64) {
    let mut point = || {
        let near = random.below(14);
        if random.below(4) == 0 { u64::MAX - near % 4 } else { near }
    };
    let points = [point(), point()];
    (points[0].min(points[1]), points[0].max(points[1]))
}

/// A lock of one of `owners` owners, numbered from 1.
pub fn random_lock(random: &mut Random, owners: u64) -> Lock {
    let (first, last) = random_range(random);
    Lock { owner: 1 + random.below(owners), first, last, exclusive: random.below(2) == 0 }
}
