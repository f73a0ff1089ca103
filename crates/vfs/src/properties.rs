/// Whether calls to a file system wait.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Blocking {
    /// They never do: memory.
    Never,
    /// Some do, and return [`Error::WouldBlock`](crate::Error::WouldBlock) when they may not.
    Sometimes,
    /// Any may, without checking whether it is allowed: the server calls this file system only from threads that may
    /// wait.
    Always,
}

/// The features and limits of a file system.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Properties {
    /// The longest name, in bytes.
    pub max_name_bytes: u32,
    /// The maximum number of names of a file.
    pub max_links: u32,
    /// The largest file, in bytes.
    pub max_file_bytes: u64,
    /// The resolution of time stamps, in nanoseconds.
    pub time_step_ns: u32,
    /// Whether a file can have several names.
    pub hard_links: bool,
    /// Whether there are symbolic links.
    pub symlinks: bool,
    /// Whether these properties are the same for all files.
    pub homogeneous: bool,
    /// Whether times can be set.
    pub times_can_be_set: bool,
    /// Whether names that differ only in case are the same.
    pub case_insensitive: bool,
    /// Whether names keep the case that they were given.
    pub case_preserving: bool,
    /// Whether files and directories can have extended attributes.
    pub xattrs: bool,
    /// Whether files change only through this object, as in memory. Then clients can be promised a callback before
    /// every change. In a host directory, local programs change files.
    pub exclusive: bool,
    /// Whether files can have access lists, and directories default ones.
    pub acls: bool,
    /// Whether open files can be locked ([`OpenFile::lock`](crate::OpenFile::lock)). If not, the caller must keep locks
    /// itself.
    pub locks: bool,
    /// Whether [`FileSystem::open`](crate::FileSystem::open) checks the caller's rights. If not, the caller must ask
    /// [`FileSystem::access`](crate::FileSystem::access) before.
    pub checks_opens: bool,
    /// The size of the blocks in which a power failure may leave the bytes of before a file was cut, when the file was
    /// extended since: the new size is stored, and the zeros behind the old end are not. Zero if that cannot be.
    pub late_zeros_bytes: u32,
    /// The verifier of directory cookies: cookies of one verifier are invalid under another. A file system whose
    /// cookies survive a restart always returns the same.
    pub cookie_verifier: u64,
}

impl Default for Properties {
    fn default() -> Self {
        Properties {
            max_name_bytes: 255,
            max_links: 32_000,
            max_file_bytes: i64::MAX.cast_unsigned(),
            time_step_ns: 1,
            hard_links: true,
            symlinks: true,
            homogeneous: true,
            times_can_be_set: true,
            case_insensitive: false,
            case_preserving: true,
            xattrs: false,
            exclusive: false,
            acls: false,
            locks: false,
            checks_opens: false,
            late_zeros_bytes: 0,
            cookie_verifier: 0,
        }
    }
}
