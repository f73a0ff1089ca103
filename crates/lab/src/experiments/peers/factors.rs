//! The factors, and the levels of storage.

pub(super) const STORAGE: &str = "storage";
pub(super) const VERSION: &str = "version";
pub(super) const LOAD: &str = "load";
pub(super) const SERVER: &str = "server";

/// The levels of [`STORAGE`].
pub(super) const MEMORY: &str = "memory";
pub(super) const DISK: &str = "disk";
