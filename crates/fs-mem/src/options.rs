use std::fmt;
use std::sync::Arc;
use std::time::SystemTime;

use vfs::Timestamp;

/// Where a [`MemFs`](crate::MemFs) gets the time from.
#[derive(Clone)]
pub struct Clock(Arc<dyn Fn() -> SystemTime + Send + Sync>);

impl Clock {
    /// Makes a clock of a function, which is called with locks held and so must not use the file system itself.
    pub fn new(now: impl Fn() -> SystemTime + Send + Sync + 'static) -> Clock {
        Clock(Arc::new(now))
    }

    pub(crate) fn now(&self) -> Timestamp {
        (self.0)().into()
    }
}

impl Default for Clock {
    /// The clock of the machine.
    fn default() -> Self {
        Clock::new(SystemTime::now)
    }
}

impl fmt::Debug for Clock {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Clock(..)")
    }
}

/// How large a [`MemFs`](crate::MemFs) may get, and what its root is like.
#[derive(Debug, Clone)]
pub struct MemOptions {
    /// The most bytes that all pages of files, targets of symbolic links and extended attributes may take together.
    pub capacity_bytes: u64,
    /// The most files, where every further hard link counts as one too. Each takes about half a KiB of memory, which is
    /// not counted in `capacity_bytes`.
    pub max_files: u64,
    /// The twelve permission bits of the root.
    pub root_mode: u32,
    /// The owner of the root.
    pub root_uid: u32,
    /// The group of the root.
    pub root_gid: u32,
    /// Where time stamps come from.
    pub clock: Clock,
}

impl MemOptions {
    /// The default capacity: 1 GiB.
    pub const DEFAULT_CAPACITY_BYTES: u64 = 1 << 30;
    /// The default for [`MemOptions::max_files`].
    pub const DEFAULT_MAX_FILES: u64 = 1 << 20;
}

impl Default for MemOptions {
    fn default() -> Self {
        MemOptions {
            capacity_bytes: Self::DEFAULT_CAPACITY_BYTES,
            max_files: Self::DEFAULT_MAX_FILES,
            root_mode: 0o755,
            root_uid: 0,
            root_gid: 0,
            clock: Clock::default(),
        }
    }
}
