use std::path::PathBuf;

use crate::Origin;

/// A directory that may depend on a write log.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LogMark {
    /// Its path.
    pub dir: PathBuf,
    /// Its place in storage.
    pub origin: Origin,
    /// Whether it is the root of the file system that was asked.
    pub is_own: bool,
    /// What it says of its log.
    pub stored: Option<StoredMark>,
}

/// What a directory says of its write log.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StoredMark {
    /// The mark as it was stored.
    pub text: Vec<u8>,
    /// The attribute that has it.
    pub attribute: &'static str,
    /// Whether only servers and root can have written it.
    pub is_safe: bool,
}
