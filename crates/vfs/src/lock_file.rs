use std::ops::RangeInclusive;

use crate::Result;

/// A lock on a range of bytes of a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FileLock {
    /// The offset of the first byte.
    pub first_bytes: u64,
    /// The offset of the last byte; `u64::MAX` for every byte that the file may ever have.
    pub last_bytes: u64,
    /// Whether nobody else may have a lock there, or only no exclusive one.
    pub exclusive: bool,
}

/// Who holds a lock, by a number that whoever calls the file system gives: it tells the owners of one file apart,
/// whichever of their open files they lock by.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct LockOwner(pub u64);

/// What became of a wish for a lock.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LockOutcome {
    /// It is held, or could be.
    Free,
    /// This lock of somebody else stands in the way.
    Taken(FileLock),
}

/// A file on which the server holds locks for all its clients together, so that local processes meet them. Dropping it
/// gives up all of them.
///
/// It may hold more than it was asked for, a wider range or an exclusive lock instead of a shared one, where the exact
/// locks would cost too much. Local processes then wait for longer than necessary, and never get a lock too early.
pub trait LockFile: Send {
    /// Makes `lock` the one that is held in its range, in place of what was held there. It does not wait. When another
    /// one is in the way, or after an error, what was held before still is.
    ///
    /// # Errors
    /// Whatever the system says.
    fn take(&mut self, lock: FileLock) -> Result<LockOutcome>;

    /// Gives up what is held in `ranges`: in order, without overlaps, both ends included.
    ///
    /// # Errors
    /// Whatever the system says; what was not given up then stays held, until a later release or until this is dropped.
    fn release(&mut self, ranges: &[RangeInclusive<u64>]) -> Result<()>;

    /// Whether a lock could be had next to those of local processes.
    ///
    /// # Errors
    /// Whatever the system says.
    fn test(&self, wanted: FileLock) -> Result<LockOutcome>;
}
