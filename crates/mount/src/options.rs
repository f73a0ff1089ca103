use std::time::Duration;

/// How to mount.
///
/// ```
/// use mount::{Options, Validity};
///
/// let options = Options { source: "server:/export".to_owned(), validity: Validity::NONE, ..Options::default() };
/// assert!(!options.is_read_only);
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Options {
    /// The device name in `mount` and `df`.
    pub source: String,
    /// Whether it is read-only (`ro`).
    pub is_read_only: bool,
    /// Whether programs on it can run (`noexec` turns it off).
    pub allows_programs: bool,
    /// Whether device files on it work (`nodev` turns it off). Only the superuser's mounts can allow it.
    pub allows_devices: bool,
    /// Whether set-id bits take effect (`nosuid` turns it off). Only the superuser's mounts can allow it.
    pub allows_set_ids: bool,
    /// Whether each write is on stable storage when it returns (`sync`).
    pub is_synchronous: bool,
    /// Whether users other than the one who mounts may use it (`allow_other`).
    pub allows_others: bool,
    /// How long the kernel caches names and attributes.
    pub validity: Validity,
    /// Whether the kernel writes data back late. It then assumes that nobody else changes files.
    pub is_writeback: bool,
    /// Whether reads and writes bypass the kernel's page cache.
    pub is_direct: bool,
    /// Whether `fcntl` locks are passed to the file system. Otherwise, and if it has none, they are local to this
    /// machine (`nolock`).
    pub passes_locks: bool,
    /// The same for `flock` locks.
    pub passes_flocks: bool,
    /// Whether listings include attributes (`rdirplus`).
    pub lists_files: bool,
    /// The kernel's read-ahead, in bytes. Only the superuser can have more than 128 KiB.
    pub read_ahead_bytes: u64,
}

impl Default for Options {
    fn default() -> Self {
        Options {
            source: "wharf".to_owned(),
            is_read_only: false,
            allows_programs: true,
            allows_devices: true,
            allows_set_ids: true,
            is_synchronous: false,
            allows_others: rustix::process::geteuid().is_root(),
            validity: Validity::default(),
            is_writeback: false,
            is_direct: false,
            passes_locks: true,
            passes_flocks: true,
            lists_files: true,
            read_ahead_bytes: 4 << 20,
        }
    }
}

/// How long the kernel caches answers without asking again.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Validity {
    /// Attributes of files.
    pub attributes: Duration,
    /// Names that exist.
    pub names: Duration,
    /// Names that do not exist.
    pub absences: Duration,
}

impl Validity {
    /// No caching.
    pub const NONE: Validity = Validity { attributes: Duration::ZERO, names: Duration::ZERO, absences: Duration::ZERO };
}

impl Default for Validity {
    /// One second: it saves most requests, and a cache below may add its own times.
    fn default() -> Self {
        let second = Duration::from_secs(1);
        Validity { attributes: second, names: second, absences: second }
    }
}
