//! What those that are compared are called in results and tables.

use crate::ceiling::Way;

/// The server of this checkout.
pub const WHARF: &str = "Wharf";
/// The same program with the same options once more: what differs between the two is an error of the comparison.
pub const WHARF_AGAIN: &str = "Wharf again (A/A)";
/// The same, which opens and closes the file for each READ.
pub const WHARF_UNCACHED: &str = "Wharf without open files";
/// NFS-Ganesha with the VFS backend.
pub const GANESHA: &str = "NFS-Ganesha";

/// Responders that do nothing but move data: from memory, copied from the file, or sent from it.
pub const CEILING_MEMORY: &str = "ceiling: from memory";
pub const CEILING_COPY: &str = "ceiling: copied from the file";
pub const CEILING_SENDFILE: &str = "ceiling: sendfile";
/// No server, but the system calls that one has to make.
pub const SYSTEM_CALLS: &str = "system calls";

/// What a responder is called in tables.
pub fn ceiling_name(way: Way) -> &'static str {
    match way {
        Way::Memory => CEILING_MEMORY,
        Way::Copy => CEILING_COPY,
        Way::Sendfile => CEILING_SENDFILE,
    }
}
