//! Where a server works and listens.

use std::path::PathBuf;

/// Where servers of an experiment work.
#[derive(Debug, Clone)]
pub struct Site {
    /// The program `wharf`.
    pub program: PathBuf,
    /// The directory that they serve.
    pub export: PathBuf,
    /// Where they keep their own things.
    pub state: PathBuf,
    /// How many event loops Wharf has. With one, servers have the first processor, otherwise all.
    pub loops: u32,
}

/// Where a server listens on this machine.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Ports {
    pub(super) nfs: u16,
    pub(super) mount: u16,
}
