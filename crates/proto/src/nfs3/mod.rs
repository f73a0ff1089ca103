//! NFS version 3 (RFC 1813).
//!
//! Each module is one procedure; common items are here.

mod access;
mod commit;
mod create;
mod fsinfo;
mod fsstat;
mod getattr;
mod link;
mod lookup;
mod mkdir;
mod mknod;
mod null;
mod pathconf;
mod read;
mod readdir;
mod readdirplus;
mod readlink;
mod remove;
mod rename;
mod rmdir;
mod setattr;
mod symlink;
mod types;
mod write;

pub use access::*;
pub use commit::*;
pub use create::*;
pub use fsinfo::*;
pub use fsstat::*;
pub use getattr::*;
pub use link::*;
pub use lookup::*;
pub use mkdir::*;
pub use mknod::*;
pub use null::*;
pub use pathconf::*;
pub use read::*;
pub use readdir::*;
pub use readdirplus::*;
pub use readlink::*;
pub use remove::*;
pub use rename::*;
pub use rmdir::*;
pub use setattr::*;
pub use symlink::*;
pub use types::*;
pub use write::*;

/// A file handle (NFS3_FHSIZE).
pub type FileHandle = crate::FileHandle<64>;

/// The program's number.
pub const PROGRAM: u32 = 100_003;
/// The version's number.
pub const VERSION: u32 = 3;
/// The longest path, in bytes: the target of a symbolic link. The RFC sets no limit; this is PATH_MAX of Linux.
pub const MAX_PATH_BYTES: usize = 4096;
/// The longest name to decode, in bytes. The RFC sets no limit; a server answers NAMETOOLONG at its own.
pub const MAX_NAME_BYTES: usize = 4096;
/// The most data of a READ or a WRITE, in bytes.
pub const MAX_DATA_BYTES: usize = 1 << 20;
/// The most entries of a directory in one reply: more of the shortest than fit in a reply of 1 MiB.
pub const MAX_DIR_ENTRIES: usize = 1 << 16;

/// The names of the procedures, by number.
pub const PROCEDURES: [&str; 22] = [
    "NULL",
    "GETATTR",
    "SETATTR",
    "LOOKUP",
    "ACCESS",
    "READLINK",
    "READ",
    "WRITE",
    "CREATE",
    "MKDIR",
    "SYMLINK",
    "MKNOD",
    "REMOVE",
    "RMDIR",
    "RENAME",
    "LINK",
    "READDIR",
    "READDIRPLUS",
    "FSSTAT",
    "FSINFO",
    "PATHCONF",
    "COMMIT",
];
