/// Whether calls of a file system wait.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Blocking {
    /// They never do: memory.
    Never,
    /// Some do, and those answer [`Error::WouldBlock`](crate::Error::WouldBlock) when they may not.
    Sometimes,
    /// Any may, and none asks: the server calls this file system only from threads that may wait.
    Always,
}

/// What a file system can do and how large things may get.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Properties {
    /// The longest name, in bytes.
    pub max_name_bytes: u32,
    /// The most names that one file can have.
    pub max_links: u32,
    /// The largest file, in bytes.
    pub max_file_bytes: u64,
    /// The smallest step of a time stamp, in nanoseconds.
    pub time_step_ns: u32,
    /// Whether a file can have several names.
    pub hard_links: bool,
    /// Whether there are symbolic links.
    pub symlinks: bool,
    /// Whether every kind of file is handled alike, so that one answer holds for the whole file system.
    pub homogeneous: bool,
    /// Whether times can be set.
    pub times_can_be_set: bool,
    /// Whether names that differ only in case are the same.
    pub case_insensitive: bool,
    /// Whether names keep the case that they were given.
    pub case_preserving: bool,
    /// Whether files and directories can have extended attributes.
    pub xattrs: bool,
    /// Whether nobody changes files but through this very object, as in memory: then clients may be promised to be told of every
    /// change. Programs on the same machine change a host directory.
    pub exclusive: bool,
    /// Whether files can have access lists, and directories default ones.
    pub acls: bool,
    /// Whether open files can be locked ([`OpenFile::lock`](crate::OpenFile::lock)). Where not, whoever has use for locks keeps them itself.
    pub locks: bool,
    /// What a directory's cookies belong to: cookies that were given under one number are not understood under another.
    /// A file system whose cookies survive a restart always says the same.
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
            cookie_verifier: 0,
        }
    }
}
