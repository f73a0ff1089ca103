//! Limits of walks over trees.

/// How many directories deep a tree may be: twice as deep as a path of 4096 bytes can name.
pub const MAX_DEPTH: usize = 4096;
