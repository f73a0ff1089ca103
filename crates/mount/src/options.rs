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
    /// What `mount` and `df` show as the device.
    pub source: String,
    /// Whether nothing can be changed (`ro`).
    pub is_read_only: bool,
    /// Whether programs on it can be run (`noexec` turns it off).
    pub allows_programs: bool,
    /// Whether device files on it are devices (`nodev` turns it off). Only the superuser's mounts can have them.
    pub allows_devices: bool,
    /// Whether programs on it can lend their owner's rights (`nosuid` turns it off). Only the superuser's mounts can have them.
    pub allows_set_ids: bool,
    /// Whether each write is on stable storage when it returns (`sync`).
    pub is_synchronous: bool,
    /// Whether users other than the one who mounts may use it (`allow_other`).
    pub allows_others: bool,
    /// Whether the kernel checks permission bits (`default_permissions`). Otherwise only the file system does.
    pub checks_permissions: bool,
    /// How long the kernel believes what it was told.
    pub validity: Validity,
    /// Whether the kernel collects writes and writes them later. It then believes that nobody else changes files.
    pub is_writeback: bool,
    /// Whether reads and writes go past the kernel's pages.
    pub is_direct: bool,
    /// Whether locks of `fcntl` are the file system's. Otherwise, and where it has none, they are local to this machine (`nolock`).
    pub passes_locks: bool,
    /// The same for locks of `flock`.
    pub passes_flocks: bool,
    /// Whether listings bring the files with their names (`rdirplus`).
    pub lists_files: bool,
    /// How far ahead of a sequential reader the kernel reads, in bytes. Only the superuser can have more than 128 KiB.
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
            checks_permissions: true,
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

/// How long the kernel believes what it was told, without asking again.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Validity {
    /// A file's attributes.
    pub attributes: Duration,
    /// That a name is there.
    pub names: Duration,
    /// That a name is not there.
    pub absences: Duration,
}

impl Validity {
    /// Everything is asked for each time.
    pub const NONE: Validity = Validity { attributes: Duration::ZERO, names: Duration::ZERO, absences: Duration::ZERO };
}

impl Default for Validity {
    /// A second: it saves most of the asking, and a cache behind may add its own times.
    fn default() -> Self {
        let second = Duration::from_secs(1);
        Validity { attributes: second, names: second, absences: second }
    }
}
