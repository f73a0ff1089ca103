//! The stateful NFS client, for all versions: mounts, directories and files, their caches, and NFSv4 state with its
//! recovery.
//!
//! Applications import the crate `client`, which re-exports what they need from here. The rest is for `client-copy` and
//! `fs-remote`, as are the methods that the documentation hides.

#![forbid(unsafe_code)]
#![cfg_attr(not(test), deny(clippy::disallowed_methods))]

mod cache;
mod dir;
mod file;
mod graces;
mod grant;
mod listing;
mod losses;
mod mount;
pub mod mountd;
mod nlm;
mod patience;
pub mod v4;

pub use cache::Order;
#[doc(no_inline)]
pub use client_calls::{
    Bytes, CacheCounters, Caching, Connection, Copied, Counters, Credentials, Data, Detail, DirEntry, DirPosition,
    Entry, Error, FsInfo, Handle, HeldState, Histogram, HitsMisses, Label, Lie, Location, MountRefusal, NameCaching,
    NoExport, OperationCounters, Options, Page, Parameters, PathError, PathLimits, Piece, Principal, Procedure,
    ProcedureStatistics, ReadInto, Reason, Response, Result, Rights, Segment, Segments, SessionLimit, SpecialFile,
    Statistics, Status, Transport, Tunnel, Url, UrlError, Version, WriteVerifier, Written, XattrMode, clamped_times,
    core, place, rpcbind,
};
pub use dir::{Dir, Entries};
pub use file::{Access, Copying, Cursor, Extent, File, LockKind, OpenOptions};
pub use listing::Listing;
pub use mount::{Follow, Meter, Mount, Sizes};
pub use v4::{hurry, leave_servers};
#[doc(no_inline)]
pub use vfs::{Attributes, CreateMode, Device, FileKind, SetAttributes, SetTime, Space, Stability, Timestamp};

use client_calls::{v2, v3};
