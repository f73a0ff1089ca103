//! How many of the words each crate has left.

/// Crates and their numbers. All others have none.
pub const BASELINE: &[(&str, usize)] =
    &[("fs-host", 19), ("lab", 21), ("net", 14), ("server", 25), ("stable", 2), ("state", 7)];
