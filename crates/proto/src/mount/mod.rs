//! MOUNT versions 1 and 2 (RFC 1094 Appendix A), which go with NFS version 2, and 3 (RFC 1813 §5), which goes with 3.
//!
//! Each module is one procedure. Most are equal in all versions, and have the version as a constant parameter:
//! `Dump<3>`.

mod dump;
mod export;
mod exportall;
mod mnt;
mod mnt3;
mod null;
mod pathconf;
mod types;
mod umnt;
mod umntall;

pub use dump::*;
pub use export::*;
pub use exportall::*;
pub use mnt::*;
pub use mnt3::*;
pub use null::*;
pub use pathconf::*;
pub use types::*;
pub use umnt::*;
pub use umntall::*;

/// The program's number.
pub const PROGRAM: u32 = 100_005;
/// The longest path, in bytes (MNTPATHLEN).
pub const MAX_PATH_BYTES: usize = 1024;
/// The longest name of a host or a group, in bytes (MNTNAMLEN).
pub const MAX_NAME_BYTES: usize = 255;
/// The most authentication flavours of an export. The RFC sets no limit; the IANA registry has fewer in use.
pub const MAX_FLAVORS: usize = 64;
/// The most mounts in a reply of DUMP.
pub const MAX_MOUNTS: usize = 1 << 16;
/// The most exports in a reply of EXPORT.
pub const MAX_EXPORTS: usize = 1 << 12;
/// The most groups of one export.
pub const MAX_GROUPS: usize = 1 << 12;

/// The names of the procedures of version 2, by number; version 1 has all but the last, version 3 all but the last two.
pub const PROCEDURES: [&str; 8] = ["NULL", "MNT", "DUMP", "UMNT", "UMNTALL", "EXPORT", "EXPORTALL", "PATHCONF"];
