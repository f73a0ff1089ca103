use std::fmt;
use std::sync::Arc;
use std::time::SystemTime;

use vfs::Timestamp;

/// The source of time for a [`MemFs`](crate::MemFs).
#[derive(Clone)]
pub struct Clock(Arc<dyn Fn() -> SystemTime + Send + Sync>);

impl Clock {
    /// Makes a clock of a function. It is called with locks held, so it must not use the file system.
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

/// The limits and the root of a [`MemFs`](crate::MemFs).
#[derive(Debug, Clone)]
pub struct MemOptions {
    /// The maximum size of all pages, targets of symbolic links and extended attributes together.
    pub capacity_bytes: u64,
    /// The maximum number of files; each further hard link also counts. Each takes about half a KiB of memory, which is
    /// not part of `capacity_bytes`.
    pub max_files: u64,
    /// The twelve permission bits of the root.
    pub root_mode: u32,
    /// The owner of the root.
    pub root_uid: u32,
    /// The group of the root.
    pub root_gid: u32,
    /// The source of time stamps.
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
