use std::path::PathBuf;

/// A file or directory of this machine that a job uses.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LocalPath {
    /// Its path.
    pub path: PathBuf,
    /// Whether reads and writes pass by the page cache (O_DIRECT).
    pub is_direct: bool,
}
