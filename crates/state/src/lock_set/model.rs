//! Compares the set with a plain list, over random operations of several owners.

use testing::Random;
use testing::naive_locks::{Lock, Locks, random_lock};

use super::*;

const SEEDS: u64 = 60;
const STEPS: u64 = 250;
const OWNERS: u64 = 5;

struct ModelPair {
    set: LockSet,
    naive: Locks,
    /// The number of restarts of each owner, which change its lock stateid.
    lives: [u32; OWNERS as usize + 1],
}

impl ModelPair {
    /// Owners 1 and 2 belong to the lock protocol, and have no state.
    fn state(&self, owner: u64) -> Option<StateKey> {
        (owner > 2).then(|| StateKey::new(owner as u32, self.lives[owner as usize]))
    }

    fn held(&self, lock: &Lock) -> HeldLock {
        let range = ByteRange::inclusive(lock.first, lock.last).unwrap();
        HeldLock { owner: OwnerId(lock.owner), range, exclusive: lock.exclusive, state: self.state(lock.owner) }
    }

    fn step(&mut self, rng: &mut Random) {
        let lock = random_lock(rng, OWNERS);
        match rng.below(10) {
            0..=5 if !self.naive.0.iter().any(|other| other.conflicts(&lock)) => {
                self.set.set(self.held(&lock));
                self.naive.set(lock);
            }
            0..=8 => self.clear(lock),
            _ => {
                self.clear(Lock { first: 0, last: u64::MAX, ..lock });
                self.lives[lock.owner as usize] += 1;
            }
        }
        self.compare(random_lock(rng, OWNERS + 1));
    }

    fn clear(&mut self, lock: Lock) {
        let (before, at_most) = (self.naive.coverage(), self.set.len());
        let range = self.held(&lock).range;
        let growth = self.set.growth_without(OwnerId(lock.owner), range);
        let unlocked = self.set.clear(OwnerId(lock.owner), range);
        self.naive.clear(lock.owner, lock.first, lock.last);
        assert!(self.set.len() <= at_most + growth);
        // Every earlier host range is either still covered or reported as freed.
        let mut host = Locks(before);
        self.set.freed(&unlocked).iter().for_each(|range| host.clear(0, range.first(), range.last()));
        assert_eq!(host.0, self.naive.coverage());
    }

    fn compare(&self, wanted: Lock) {
        let (owner, range) = (OwnerId(wanted.owner), self.held(&Lock { owner: 1, ..wanted }).range);
        let mut all: Vec<HeldLock> = self.naive.0.iter().map(|lock| self.held(lock)).collect();
        let mut held: Vec<HeldLock> = self.set.conflicts(OwnerId::NOBODY, ByteRange::WHOLE, true).collect();
        held.sort_by_key(|lock| (lock.owner, lock.range));
        assert_eq!((held, self.set.len()), (all.clone(), all.len()));
        assert_eq!(self.set.has_owner(owner), all.iter().any(|lock| lock.owner == owner));
        assert_eq!(self.set.has_stateless(), all.iter().any(|lock| lock.state.is_none()));
        let state = StateKey::new(wanted.owner as u32, 0);
        assert_eq!(self.set.has_state(owner, state), all.iter().any(|lock| lock.state == Some(state)));
        let coverage = self.naive.coverage();
        let host = coverage
            .iter()
            .map(|lock| HostRange { range: self.held(&Lock { owner: 1, ..*lock }).range, exclusive: lock.exclusive });
        assert_eq!(self.set.coverage(), host.collect::<Vec<_>>());
        all.retain(|lock| lock.conflicts(owner, range, wanted.exclusive));
        let mut found: Vec<_> = self.set.conflicts(owner, range, wanted.exclusive).collect();
        found.sort_by_key(|lock| (lock.owner, lock.range));
        assert_eq!(found, all);
        let first = self.set.first_conflict(owner, range, wanted.exclusive).map(|lock| lock.range.first());
        assert_eq!(first, all.iter().map(|lock| lock.range.first()).min());
    }
}

#[test]
fn set_agrees_with_a_plain_list() {
    for seed in 0..SEEDS {
        println!("seed {seed}");
        let mut pair = ModelPair { set: LockSet::default(), naive: Locks::default(), lives: [0; OWNERS as usize + 1] };
        let mut rng = Random(seed);
        (0..STEPS).for_each(|_| pair.step(&mut rng));
    }
}
