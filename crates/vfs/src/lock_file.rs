use std::ops::RangeInclusive;

use crate::Result;

/// A lock on a range of bytes of a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FileLock {
    /// The offset of the first byte.
    pub first_bytes: u64,
    /// The offset of the last byte; `u64::MAX` for the rest of the file, however long.
    pub last_bytes: u64,
    /// Whether the lock is exclusive, or shared.
    pub exclusive: bool,
}

/// The owner of a lock, by a number from the caller. It distinguishes the owners within one file, whichever of their
/// open files they use.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct LockOwner(pub u64);

/// The result of a lock request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LockOutcome {
    /// The lock is held, or would be granted.
    Free,
    /// This conflicting lock is held by another owner.
    Taken(FileLock),
}

/// A file on which the server holds locks for all its clients together, against local processes. Dropping it releases
/// all of them.
///
/// It may hold more than requested, a wider range or an exclusive lock, where exact locks would cost too much. Local
/// processes then wait longer than necessary, but never get a lock too early.
pub trait LockFile: Send {
    /// Sets `lock` in its range, replacing what was held there. Does not wait. On a conflict or error, nothing changes.
    ///
    /// # Errors
    /// Those of the system.
    fn take(&mut self, lock: FileLock) -> Result<LockOutcome>;

    /// Releases `ranges`: in order, without overlaps, both ends included.
    ///
    /// # Errors
    /// Those of the system. What was not released stays held, until a later release or until this is dropped.
    fn release(&mut self, ranges: &[RangeInclusive<u64>]) -> Result<()>;

    /// Whether a lock would conflict with those of local processes.
    ///
    /// # Errors
    /// Those of the system.
    fn test(&self, wanted: FileLock) -> Result<LockOutcome>;
}
