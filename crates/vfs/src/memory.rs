use crate::Timestamp;

/// What holds changes of files until they are on stable storage ([`FileSystem::memory`](crate::FileSystem::memory)).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Memory {
    /// Stays the same, even after a restart of the process, as long as none of these changes can be lost.
    pub number: u64,
    /// A time before which it had no changes, by the clock of the files' ctimes: a file with an earlier ctime is in
    /// storage with all that had been set of it until then. The default if unknown.
    pub since: Timestamp,
}
