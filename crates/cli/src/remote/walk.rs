//! Limits of walks over trees.

/// The maximum depth of a tree: twice that of a path of 4096 bytes.
pub const MAX_DEPTH: usize = 4096;
