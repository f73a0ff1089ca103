//! The holder over a kernel of the test's own, in which local processes lock too.

use std::cell::{Cell, RefCell};

use testing::Random;

use super::*;

const SEEDS: u64 = 15;
const STEPS: u64 = 400;

#[derive(Default)]
struct Kernel {
    /// What the holder has locked.
    own: RefCell<LockRanges>,
    /// What local processes have locked.
    local: RefCell<Vec<FileLock>>,
    calls: Cell<usize>,
}

fn lock(first_bytes: u64, last_bytes: u64, exclusive: bool) -> FileLock {
    FileLock { first_bytes, last_bytes, exclusive }
}

fn meet(a: FileLock, b: FileLock) -> bool {
    (a.exclusive || b.exclusive) && a.first_bytes <= b.last_bytes && b.first_bytes <= a.last_bytes
}

impl SetLock for Kernel {
    fn set_lock(&self, kind: LockKind, first: u64, last: u64) -> io::Result<bool> {
        assert!(first <= last && last <= LAST_OFFSET);
        self.calls.set(self.calls.get() + 1);
        let wanted = lock(first, last, kind == LockKind::Exclusive);
        match kind {
            LockKind::None => self.own.borrow_mut().clear(first, last),
            _ if self.local.borrow().iter().any(|local| meet(*local, wanted)) => return Ok(false),
            _ => self.own.borrow_mut().set(wanted),
        }
        Ok(true)
    }
}

/// A short range among few bytes at either end.
fn random_lock(random: &mut Random) -> FileLock {
    let from = if random.below(4) == 0 { LAST_OFFSET - 9 } else { 0 };
    let first = from + random.below(if from == 0 { 60 } else { 10 });
    lock(first, (first + random.below(5)).min(LAST_OFFSET), random.below(2) == 0)
}

/// The weakest ranges that hold all of what is wanted.
fn exact(locks: &[(u64, Option<bool>)]) -> Vec<FileLock> {
    let mut ranges = LockRanges::default();
    for (at, exclusive) in locks {
        if let Some(exclusive) = exclusive {
            ranges.set(lock(*at, *at, *exclusive));
        }
    }
    ranges.overlapping(0, LAST_OFFSET).collect()
}

struct ModelRun {
    random: Random,
    holder: LockHolder<Kernel>,
    /// What each byte in use is wanted as.
    bytes: Vec<(u64, Option<bool>)>,
}

impl ModelRun {
    fn new(seed: u64, max_ranges: usize) -> ModelRun {
        let bytes = (0..70).chain(LAST_OFFSET - 9..=LAST_OFFSET).map(|at| (at, None)).collect();
        ModelRun { random: Random(seed), holder: LockHolder::new(Kernel::default(), max_ranges), bytes }
    }

    fn want(&mut self, range: FileLock, what: Option<bool>) {
        let within = self.bytes.iter_mut().filter(|(at, _)| (range.first_bytes..=range.last_bytes).contains(at));
        within.for_each(|(_, wanted)| *wanted = what);
    }

    fn held(&self) -> Vec<FileLock> {
        self.holder.description.own.borrow().overlapping(0, LAST_OFFSET).collect()
    }

    fn step(&mut self) {
        let range = random_lock(&mut self.random);
        match self.random.below(12) {
            0 => {
                let free = !self.held().into_iter().any(|own| meet(own, range));
                self.holder.description.local.borrow_mut().extend(free.then_some(range));
            }
            1 => drop(self.holder.description.local.borrow_mut().pop()),
            2..=7 => self.take(range),
            _ => self.release(range),
        }
        self.check();
    }

    fn take(&mut self, range: FileLock) {
        let before = self.held();
        let may = !self.holder.description.local.borrow().iter().any(|local| meet(*local, range));
        let taken = self.holder.take(range).unwrap();
        // Nothing but a local lock refuses a lock, unless more than was wanted is held there already.
        assert!(taken || !may);
        match taken {
            true => self.want(range, Some(range.exclusive)),
            false => assert_eq!(self.held(), before, "what was held before still is"),
        }
    }

    fn release(&mut self, range: FileLock) {
        let second = random_lock(&mut self.random);
        let ranges = [range, second].map(|range| (range.first_bytes, range.last_bytes));
        let count = if range.last_bytes < second.first_bytes { 2 } else { 1 };
        self.holder.release(ranges.into_iter().take(count)).unwrap();
        [range, second].into_iter().take(count).for_each(|range| self.want(range, None));
    }

    fn check(&self) {
        let (held, wanted) = (self.held(), exact(&self.bytes));
        let known: Vec<FileLock> = self.holder.held.overlapping(0, LAST_OFFSET).collect();
        assert_eq!(known, held);
        for wanted in &wanted {
            let (first, last) = (wanted.first_bytes, wanted.last_bytes);
            assert!(self.holder.held.missing(*wanted).is_empty(), "{first} to {last} is not held: {held:?}");
        }
        assert!(self.holder.is_coarse || held == wanted, "{held:?} is held for {wanted:?}");
        assert!(!self.holder.is_coarse || 2 * wanted.len() > self.holder.max_ranges, "coarse without need");
        let local = self.holder.description.local.borrow();
        assert!(!held.iter().any(|own| local.iter().any(|local| meet(*own, *local))));
    }
}

#[test]
fn few_ranges_are_held_exactly_and_many_at_least() {
    for seed in 0..SEEDS {
        for max_ranges in [6, 1000] {
            println!("seed {seed}, at most {max_ranges} ranges");
            let mut run = ModelRun::new(seed, max_ranges);
            (0..STEPS).for_each(|_| run.step());
            assert!(max_ranges < 1000 || !run.holder.is_coarse);
            run.holder.description.local.borrow_mut().clear();
            run.holder.release([(0, LAST_OFFSET)].into_iter()).unwrap();
            assert_eq!(run.held(), []);
        }
    }
}

#[test]
fn lock_costs_no_more_calls_however_many_there_are_and_the_kernel_never_has_more_than_its_share() {
    let mut holder = LockHolder::new(Kernel::default(), MAX_RANGES);
    let mut most = |count: u64, exclusive: &dyn Fn(u64) -> bool| {
        let calls = (0..count).map(|at| {
            let before = holder.description.calls.get();
            assert!(holder.take(lock(10 * at, 10 * at, exclusive(at))).unwrap());
            holder.description.calls.get() - before
        });
        let most = calls.max();
        assert!(holder.held.len() <= MAX_RANGES);
        most
    };
    assert_eq!(most(10, &|_| true), Some(1));
    assert_eq!(most(1000, &|_| true), Some(1));
    assert_eq!(most(16_384, &|_| true), Some(1));
    assert!(most(16_384, &|at| at % 2 == 0) <= Some(2), "with kinds that do not merge");
    let before = holder.description.calls.get();
    holder.release((0..16_384).map(|at| (10 * at, 10 * at))).unwrap();
    assert_eq!((holder.description.calls.get() - before, holder.held.len()), (1, 0), "all at once");
}
