//! What a missing or damaged file of the server's own tells the administrator.

use std::path::PathBuf;

/// A file that is missing or damaged: what is wrong, what that means, and what to do.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{path} {wrong}: {means}; {remedy}", path = path.display())]
pub struct Flaw {
    /// The file.
    pub path: PathBuf,
    /// Such as "is missing".
    pub wrong: String,
    /// The consequence.
    pub means: String,
    /// What to do.
    pub remedy: String,
}
