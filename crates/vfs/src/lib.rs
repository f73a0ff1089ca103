//! The [`FileSystem`] trait and its types.
//!
//! Wharf serves a `FileSystem`, and its client offers one. The trait has handles, names, attributes and bytes, but
//! nothing of NFS: no status codes, no XDR, no protocol version.
//!
//! Three rules hold everywhere:
//!
//! - A [`Handle`] identifies one file for as long as that file exists, across renames and restarts of the server, and
//!   never identifies another one afterwards.
//! - The *server* checks permissions, with [`FileSystem::access`] and the attributes; a file system may refuse more.
//! - A call with [`Context::may_block`]` == false` runs on an event loop. A file system that would have to wait returns
//!   [`Error::WouldBlock`], and the call is repeated on a thread that may wait.
#![forbid(unsafe_code)]

mod access;
mod acl;
mod attributes;
mod context;
mod counted;
mod directory;
mod entry;
mod error;
mod filesystem;
mod forward;
mod handle;
mod hold;
mod lease;
mod lock_file;
mod log_mark;
mod memory;
mod name;
mod new_node;
mod open_file;
mod origin;
pub mod permission;
mod properties;
mod quoted;
pub mod race;
mod space;
mod xattr;

pub use access::Access;
pub use acl::{AclEntry, AclError, AclTag, Acls, PosixAcl};
pub use attributes::{Attributes, Device, FileKind, SetAttributes, SetTime, Timestamp};
pub use buffer::SendableFile;
pub use context::{Caller, Context};
pub use counted::counted;
pub use directory::{Detail, DirEntry, EachEntry, Listing, ReadDir};
pub use entry::{Entry, Found, Place};
pub use error::{Error, Result};
pub use filesystem::FileSystem;
pub use handle::Handle;
pub use hold::FileHold;
pub use lease::{FileLease, OnLeaseBreak};
pub use lock_file::{FileLock, LockFile, LockOutcome, LockOwner};
pub use log_mark::{LogMark, StoredMark};
pub use memory::Memory;
pub use name::{Name, NameError};
pub use new_node::{CreateMode, NewNode};
pub use open_file::{CopyRange, HostFile, LentBytes, OpenFile, OpenMode, ReadBytes, Seek, Stability, Written};
pub use origin::Origin;
pub use properties::{Blocking, Properties};
pub use quoted::{listed, quoted};
pub use space::Space;
pub use xattr::{SetXattr, XattrMode, XattrName, XattrNameError};
