//! The stateful NFS client, for all versions: mounts, directories and files, their caches, and NFSv4 state with its
//! recovery.
//!
//! Applications import the crate `client`, which re-exports what they need from here.

#![forbid(unsafe_code)]

mod cache;
mod connection;
pub mod core;
mod credentials;
mod dir;
mod directory;
mod error;
mod file;
mod grant;
mod handle;
mod io_error;
mod location;
mod losses;
mod mount;
pub mod mountd;
mod nlm;
mod no_export;
mod old_times;
mod options;
mod patience;
pub mod rpcbind;
mod statistics;
mod status;
mod types;
mod url;
mod v2;
mod v3;
pub mod v4;
mod write_reply;

pub use bytes::Bytes;
pub use cache::Order;
pub use connection::{Connection, Response, Tunnel};
pub use core::{Counters, Transport};
pub use credentials::{Credentials, Principal};
pub use dir::{Dir, Entries};
pub use directory::Listing;
pub use error::{Error, Lie, MountRefusal, PathError, Reason, Result, SessionLimit};
pub use file::{Access, Copying, Cursor, Extent, File, LockKind, OpenOptions, Piece, Segment, Segments, place};
pub use handle::Handle;
pub use location::Location;
pub use mount::{Follow, Meter, Mount, Sizes};
pub use no_export::NoExport;
pub use old_times::clamped as clamped_times;
pub use options::{Caching, NameCaching, Options, Version};
pub use statistics::{
    CacheCounters, HeldState, Histogram, HitsMisses, Label, OperationCounters, Procedure, ProcedureStatistics,
    Statistics,
};
pub use status::Status;
pub use types::{
    Copied, Data, Detail, DirEntry, DirPosition, Entry, FsInfo, Page, PathLimits, ReadInto, Rights, SpecialFile,
    WriteVerifier, Written, XattrMode,
};
pub use url::{Parameters, Url, UrlError};
pub use v4::leave_servers;
pub use vfs::{Attributes, CreateMode, Device, FileKind, SetAttributes, SetTime, Space, Stability, Timestamp};
#[doc(no_inline)]
pub use {proto, vfs};
