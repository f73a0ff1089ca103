/// The place of a file system's root in its storage. Two file systems with the same `device` and `fileid` show the same
/// directory, whatever their paths.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Origin {
    /// The number of the storage, which may change when the machine restarts.
    pub device: u64,
    /// The number of the root directory there.
    pub fileid: u64,
    /// Distinguishes this directory from a later one with the same number. It survives restarts.
    pub birth: u64,
}

impl Origin {
    /// Whether both are the same directory now.
    pub fn is_at(&self, device: u64, fileid: u64) -> bool {
        (self.device, self.fileid) == (device, fileid)
    }
}
