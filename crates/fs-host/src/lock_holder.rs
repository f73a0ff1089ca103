//! Which locks of an open file description are set so that what clients have locked is locked here.
//!
//! The kernel walks a list of all locks of a file for each request (`posix_lock_inode`): with 16 384 ranges a request
//! takes a millisecond. So only [`MAX_RANGES`] ranges are locked exactly. A further one is locked together with the
//! bytes up to its neighbour, exclusively if either is exclusive. Local processes then wait for more than necessary,
//! and never get what a client holds. Where a local process has locked one of the bytes between, the exact range is
//! locked. Once clients have only half as many ranges, the exact ones are locked again.

use std::io;

use vfs::FileLock;

use crate::lock_ranges::LockRanges;
use crate::sys::LockKind;

/// How many ranges of a file are locked exactly: the kernel takes some 8 µs for one more.
pub(crate) const MAX_RANGES: usize = 1024;
/// The last offset that a lock of the kernel has.
pub(crate) const LAST_OFFSET: u64 = i64::MAX as u64;

/// The kernel's locks of one open file description.
pub(crate) trait SetLock {
    /// Sets the lock from the first to the last byte, both included; false when somebody else's is in the way, and then
    /// nothing has changed.
    fn set_lock(&self, kind: LockKind, first: u64, last: u64) -> io::Result<bool>;
}

pub(crate) struct LockHolder<D> {
    description: D,
    wanted: LockRanges,
    /// All of `wanted`, at least as strong; more than that only when `is_coarse`.
    held: LockRanges,
    is_coarse: bool,
    max_ranges: usize,
}

impl<D: SetLock> LockHolder<D> {
    pub(crate) fn new(description: D, max_ranges: usize) -> LockHolder<D> {
        LockHolder {
            description,
            wanted: LockRanges::default(),
            held: LockRanges::default(),
            is_coarse: false,
            max_ranges,
        }
    }

    pub(crate) fn description(&self) -> &D {
        &self.description
    }

    /// Holds all locks by another description, if nobody's lock is in the way there; true when it does.
    pub(crate) fn move_to(&mut self, description: D) -> io::Result<bool> {
        for lock in self.held.overlapping(0, LAST_OFFSET) {
            let kind = if lock.exclusive { LockKind::Exclusive } else { LockKind::Shared };
            if !description.set_lock(kind, lock.first_bytes, lock.last_bytes)? {
                return Ok(false);
            }
        }
        self.description = description;
        Ok(true)
    }

    /// Locks a range in place of what is locked there; false when somebody else's lock is in the way.
    pub(crate) fn take(&mut self, lock: FileLock) -> io::Result<bool> {
        let missing = self.held.missing(lock);
        let is_held = missing.is_empty() || self.take_coarsely(lock)? || self.take_exactly(lock, &missing)?;
        if is_held {
            self.wanted.set(lock);
            self.downgrade(lock);
        }
        Ok(is_held)
    }

    /// Gives up ranges, in order.
    pub(crate) fn release(&mut self, ranges: impl Iterator<Item = (u64, u64)> + Clone) -> io::Result<()> {
        ranges.clone().for_each(|(first, last)| self.wanted.clear(first, last));
        if self.wanted.is_empty() {
            return self.release_all();
        }
        let mut free_up_to = None;
        for (first, last) in ranges.filter(|(first, last)| first <= last) {
            if free_up_to.is_none_or(|free| last > free) {
                let (first, last) = self.unwanted_around(first, last);
                free_up_to = Some(last);
                self.free(first, last)?;
            }
        }
        if self.is_coarse && self.wanted.len() <= self.max_ranges / 2 { self.refine() } else { Ok(()) }
    }

    /// Gives up everything at once: most files have one lock.
    fn release_all(&mut self) -> io::Result<()> {
        if self.held.is_empty() {
            return Ok(());
        }
        let is_unset = self.description.set_lock(LockKind::None, 0, LAST_OFFSET);
        // Whatever could not be given up is given up with the next refinement.
        self.is_coarse = is_unset.is_err();
        is_unset.map(|_| self.held = LockRanges::default())
    }

    /// The widest range around one that nobody wants in which nobody wants anything.
    fn unwanted_around(&self, first: u64, last: u64) -> (u64, u64) {
        let before = self.wanted.before(first).map_or(0, |lock| lock.last_bytes + 1);
        let behind = self.wanted.behind(last).map_or(LAST_OFFSET, |lock| lock.first_bytes - 1);
        (before, behind)
    }

    /// At the limit, locks a range together with those that it touches, or else with the nearest one. False below the
    /// limit, and when somebody else's lock is in the way.
    fn take_coarsely(&mut self, lock: FileLock) -> io::Result<bool> {
        if self.held.len() < self.max_ranges {
            return Ok(false);
        }
        let touched = self.held.overlapping(lock.first_bytes.saturating_sub(1), lock.last_bytes + 1);
        let touched: Vec<FileLock> = touched.collect();
        let joined = if touched.is_empty() { self.nearest(lock).into_iter().collect() } else { touched };
        let wide = joined.into_iter().fold(lock, |wide, other| FileLock {
            first_bytes: wide.first_bytes.min(other.first_bytes),
            last_bytes: wide.last_bytes.max(other.last_bytes),
            exclusive: wide.exclusive || other.exclusive,
        });
        let is_taken = self.set(wide)?;
        self.is_coarse |= is_taken;
        Ok(is_taken)
    }

    fn nearest(&self, lock: FileLock) -> Option<FileLock> {
        let (before, behind) = (self.held.before(lock.first_bytes), self.held.behind(lock.last_bytes));
        let distance = |other: &FileLock| match other.first_bytes < lock.first_bytes {
            true => lock.first_bytes - other.last_bytes,
            false => other.first_bytes - lock.last_bytes,
        };
        before.into_iter().chain(behind).min_by_key(distance)
    }

    /// A shared lock is not set over an exclusive one: that could not be undone if the next piece were refused.
    fn take_exactly(&mut self, lock: FileLock, missing: &[FileLock]) -> io::Result<bool> {
        if lock.exclusive || !self.has_exclusive(lock) {
            return self.set(lock);
        }
        for (at, piece) in missing.iter().enumerate() {
            let taken = self.set(*piece);
            if !matches!(taken, Ok(true)) {
                missing[..at].iter().try_for_each(|piece| self.unset(piece.first_bytes, piece.last_bytes))?;
                return taken;
            }
        }
        Ok(true)
    }

    fn has_exclusive(&self, lock: FileLock) -> bool {
        self.held.overlapping(lock.first_bytes, lock.last_bytes).any(|held| held.exclusive)
    }

    /// Makes shared what is held exclusively in the range of a shared lock, if the pieces that this leaves are within
    /// the limit.
    fn downgrade(&mut self, lock: FileLock) {
        if lock.exclusive || !self.has_exclusive(lock) {
            return;
        }
        let pieces = self.held.cuts(lock.first_bytes, lock.last_bytes);
        let has_room = pieces == 0 || self.held.len() + pieces <= self.max_ranges;
        // If the kernel refused, more would stay held than is wanted, as it does at the limit.
        self.is_coarse |= !(has_room && matches!(self.set(lock), Ok(true)));
    }

    /// Gives up what is held in a range, unless that splits a lock and there may be no more.
    fn free(&mut self, first: u64, last: u64) -> io::Result<()> {
        let Some(from) = self.held.overlapping(first, last).next() else { return Ok(()) };
        let to = self.held.before(last.saturating_add(1)).unwrap_or(from);
        if from.first_bytes < first && from.last_bytes > last && self.held.len() >= self.max_ranges {
            self.is_coarse = true;
            return Ok(());
        }
        self.unset(first.max(from.first_bytes), last.min(to.last_bytes))
    }

    /// Holds exactly what is wanted.
    fn refine(&mut self) -> io::Result<()> {
        self.is_coarse = false;
        let wanted: Vec<FileLock> = self.wanted.overlapping(0, LAST_OFFSET).collect();
        let mut from = 0;
        for lock in &wanted {
            if lock.first_bytes > from {
                self.free(from, lock.first_bytes - 1)?;
            }
            from = lock.last_bytes + 1;
            self.downgrade(*lock);
        }
        if from <= LAST_OFFSET { self.free(from, LAST_OFFSET) } else { Ok(()) }
    }

    fn set(&mut self, lock: FileLock) -> io::Result<bool> {
        let kind = if lock.exclusive { LockKind::Exclusive } else { LockKind::Shared };
        let is_set = self.description.set_lock(kind, lock.first_bytes, lock.last_bytes)?;
        if is_set {
            self.held.set(lock);
        }
        Ok(is_set)
    }

    fn unset(&mut self, first: u64, last: u64) -> io::Result<()> {
        // Whatever could not be given up is given up with the next refinement.
        let is_unset = self.description.set_lock(LockKind::None, first, last);
        self.is_coarse |= is_unset.is_err();
        is_unset.map(|_| self.held.clear(first, last))
    }
}

#[cfg(test)]
mod model;
