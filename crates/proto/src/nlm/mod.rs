//! The lock manager for NFS versions 2 and 3: versions 1 and 3 (X/Open XNFS) and 4 (RFC 1813 appendix II).
//!
//! Each module is one operation. Most have three procedures: one with a reply, and a pair of messages, `…_MSG` and
//! `…_RES`, without. The parameter of all procedures is the [`Version`], which determines the width of offsets:
//! `Lock<V4>`. Version 1 lacks the procedures from 20 on.

mod cancel;
mod free_all;
mod granted;
mod lock;
mod nm_lock;
mod null;
mod share;
mod test;
mod types;
mod unlock;
mod unshare;

pub use cancel::*;
pub use free_all::*;
pub use granted::*;
pub use lock::*;
pub use nm_lock::*;
pub use null::*;
pub use share::*;
pub use test::*;
pub use types::*;
pub use unlock::*;
pub use unshare::*;

/// The program's number.
pub const PROGRAM: u32 = 100_021;
/// The longest name of a caller, in bytes: LM_MAXSTRLEN.
pub const MAX_CALLER_NAME_BYTES: usize = 1024;
/// The longest name of a host in FREE_ALL, in bytes: LM_MAXNAMELEN.
pub const MAX_NAME_BYTES: usize = 1025;
/// The longest cookie, handle or owner, in bytes: MAXNETOBJ_SZ.
pub const MAX_NETOBJ_BYTES: usize = 1024;

/// The names of the procedures, by number; a server answers PROC_UNAVAIL for missing ones.
pub const PROCEDURES: [Option<&str>; 24] = [
    Some("NULL"),
    Some("TEST"),
    Some("LOCK"),
    Some("CANCEL"),
    Some("UNLOCK"),
    Some("GRANTED"),
    Some("TEST_MSG"),
    Some("LOCK_MSG"),
    Some("CANCEL_MSG"),
    Some("UNLOCK_MSG"),
    Some("GRANTED_MSG"),
    Some("TEST_RES"),
    Some("LOCK_RES"),
    Some("CANCEL_RES"),
    Some("UNLOCK_RES"),
    Some("GRANTED_RES"),
    None,
    None,
    None,
    None,
    Some("SHARE"),
    Some("UNSHARE"),
    Some("NM_LOCK"),
    Some("FREE_ALL"),
];
