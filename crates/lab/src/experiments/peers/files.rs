//! The files that the loads read, write and list.

use crate::experiments::kind::Scale;

pub(super) const READ_FILE: &str = "data";
pub(super) const WRITE_FILE: &str = "written";
pub(super) const LARGE_DIRECTORY: &str = "names";
pub(super) const EMPTY_DIRECTORY: &str = "made";
/// The directory of many files; each file has its number behind this and a dot.
pub(super) const MANY_DIRECTORY: &str = "many";
pub(super) const MANY_FILES: &str = "many/f";
/// The file of each connection has its number behind this and a dot.
pub(super) const OWN_FILE: &str = "own";

/// How many names the large directory has: one listing has to end in the time of a pass.
pub(super) fn names(scale: Scale) -> u32 {
    if scale == Scale::Quick { 1000 } else { 10_000 }
}
