//! The factors and their levels, by which the figures of the source are found too.

pub(super) const FILE_SYSTEM: &str = "file system";
pub(super) const PATH: &str = "path";
pub(super) const FILE: &str = "file";
pub(super) const UNIT: &str = "segments in";
pub(super) const CACHE: &str = "server cache";
pub(super) const VERSION: &str = "version";

/// The directory that servers are given where there are no loop devices.
pub(super) const DIRECTORY: &str = "directory";
pub(super) const MEMORY: &str = "in memory";
pub(super) const WIRE: &str = "1 Gbit/s";
pub(super) const KIB: &str = "KiB";
pub(super) const PAGES: &str = "pages";
pub(super) const UNCACHED: &str = "uncached";
pub(super) const CACHED: &str = "cached";
pub(super) const SERVER_CACHES: [&str; 2] = [UNCACHED, CACHED];
pub(super) const V3: &str = "3";
pub(super) const AGAIN: &str = "3, again (A/A)";
pub(super) const READ_PLUS_VERSION: &str = "4.2";
/// The versions of the source, the reference first.
pub(super) const VERSIONS: [&str; 4] = [V3, "4.0", "4.1", READ_PLUS_VERSION];
