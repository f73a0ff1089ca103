/// Where a file system begins in the storage that it is a view of. Two file systems with the same `device` and `fileid`
/// show the same directory, by whatever path each was reached.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Origin {
    /// The number of the storage, which may be another one after a restart of the machine.
    pub device: u64,
    /// The number of the root directory there.
    pub fileid: u64,
    /// What tells this directory from a later one with the same number. It survives restarts.
    pub birth: u64,
}

impl Origin {
    /// Whether both are the same directory now.
    pub fn is_at(&self, device: u64, fileid: u64) -> bool {
        (self.device, self.fileid) == (device, fileid)
    }
}
