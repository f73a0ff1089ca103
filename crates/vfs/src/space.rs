/// How full a file system is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Space {
    /// Size in bytes.
    pub total_bytes: u64,
    /// Free bytes.
    pub free_bytes: u64,
    /// Free bytes that the caller may use.
    pub available_bytes: u64,
    /// The maximum number of files.
    pub total_files: u64,
    /// The number of files that can still be created.
    pub free_files: u64,
    /// The number of files that the caller can still create.
    pub available_files: u64,
}
