//! NFS version 2 (RFC 1094).
//!
//! Each module is one procedure; common items are here.

mod create;
mod getattr;
mod handle;
mod link;
mod lookup;
mod mkdir;
mod null;
mod read;
mod readdir;
mod readlink;
mod remove;
mod rename;
mod rmdir;
mod root;
mod sattr;
mod setattr;
mod statfs;
mod status;
mod symlink;
mod types;
mod write;
mod writecache;

pub use create::*;
pub use getattr::*;
pub use handle::FileHandle;
pub use link::*;
pub use lookup::*;
pub use mkdir::*;
pub use null::*;
pub use read::*;
pub use readdir::*;
pub use readlink::*;
pub use remove::*;
pub use rename::*;
pub use rmdir::*;
pub use root::*;
pub use sattr::*;
pub use setattr::*;
pub use statfs::*;
pub use status::*;
pub use symlink::*;
pub use types::*;
pub use write::*;
pub use writecache::*;

/// The program's number.
pub const PROGRAM: u32 = 100_003;
/// The version's number.
pub const VERSION: u32 = 2;
/// The longest path, in bytes (NFS_MAXPATHLEN).
pub const MAX_PATH_BYTES: usize = 1024;
/// The longest name, in bytes (NFS_MAXNAMLEN).
pub const MAX_NAME_BYTES: usize = 255;
/// The most data of a READ or a WRITE, in bytes (NFS_MAXDATA).
pub const MAX_DATA_BYTES: usize = 8192;
/// The most entries of a directory in one reply: as many of the shortest as fit in a datagram of 64 KiB.
pub const MAX_DIR_ENTRIES: usize = 1 << 12;

/// The names of the procedures, by number.
pub const PROCEDURES: [&str; 18] = [
    "NULL",
    "GETATTR",
    "SETATTR",
    "ROOT",
    "LOOKUP",
    "READLINK",
    "READ",
    "WRITECACHE",
    "WRITE",
    "CREATE",
    "REMOVE",
    "RENAME",
    "LINK",
    "SYMLINK",
    "MKDIR",
    "RMDIR",
    "READDIR",
    "STATFS",
];
