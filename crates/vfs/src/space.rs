/// How full a file system is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Space {
    /// Size in bytes.
    pub total_bytes: u64,
    /// Free bytes.
    pub free_bytes: u64,
    /// Free bytes that the caller may use.
    pub available_bytes: u64,
    /// How many files there can be.
    pub total_files: u64,
    /// How many more there can be.
    pub free_files: u64,
    /// How many more the caller may make.
    pub available_files: u64,
}
