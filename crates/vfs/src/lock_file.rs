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

/// Who holds a lock, by a number that whoever calls the file system gives: it tells the owners of one file apart, whichever of
/// their open files they lock by.
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

/// A file on which the server holds locks for all its clients together, so that local processes meet them. All locks are
/// given up when it is dropped.
pub trait LockFile: Send {
    /// Makes exactly `locks` the ones that are held, in place of those of the call before: in order and without overlaps.
    /// It does not wait. When one is taken, or after an error, those of the call before are still held.
    ///
    /// # Errors
    /// Whatever the system says; never when the locks only become fewer or weaker.
    fn hold(&mut self, locks: &[FileLock]) -> Result<LockOutcome>;

    /// Whether a lock could be had next to those of local processes.
    ///
    /// # Errors
    /// Whatever the system says.
    fn test(&self, wanted: FileLock) -> Result<LockOutcome>;
}
