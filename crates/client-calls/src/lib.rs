//! Procedures and operations of NFS over a connection, without any state of mounts and files.
//!
//! - [`core`] is a connection without socket and clock: the table of calls that wait for their replies.
//! - [`Connection`] moves its bytes, and [`Options`] and [`Url`] say how to reach the server.
//! - [`v2`] and [`v3`] have one function per procedure, from neutral arguments to neutral results; [`mountd`] and
//!   [`rpcbind`] likewise.
//! - [`Error`], [`Statistics`] and the types of arguments and results are the same for all versions.
//!
//! Applications import the crate `client`, which re-exports what they need from here. The rest is for `client-files`,
//! as are the methods that the documentation hides.

#![forbid(unsafe_code)]
#![cfg_attr(not(test), deny(clippy::disallowed_methods))]

mod connection;
pub mod core;
mod credentials;
mod error;
mod handle;
mod io_error;
mod location;
mod mount_refusal;
pub mod mountd;
mod no_export;
mod old_times;
mod options;
mod page;
mod place;
pub mod rpcbind;
mod segments;
mod statistics;
mod status;
mod types;
mod url;
pub mod v2;
pub mod v3;
pub mod v4;
mod write_reply;

pub use bytes::Bytes;
pub use connection::{BackCalls, Connection, Observed, Response, Tunnel, now, random};
pub use core::Counters;
pub use credentials::{Credentials, Principal};
pub use error::{Error, Lie, PathError, Reason, Result, SessionLimit};
pub use handle::Handle;
pub use location::Location;
pub use mount_refusal::MountRefusal;
pub use no_export::NoExport;
pub use old_times::clamped as clamped_times;
pub use options::{Caching, NameCaching, Options, Version};
pub use peer::Transport;
pub use place::{Piece, place};
pub use segments::{Segment, Segments};
pub use statistics::{
    CacheCounters, CacheRecorder, HeldState, Histogram, HitsMisses, Label, OperationCounters, Procedure,
    ProcedureStatistics, Recorder, Statistics,
};
pub use status::Status;
pub use types::{
    Copied, Data, Detail, DirChange, DirEntry, DirPosition, Entry, FileChange, FileVersion, FsInfo, Page, PathLimits,
    ReadInto, Rights, SpecialFile, WriteVerifier, Written, XattrMode,
};
pub use url::{Parameters, Url, UrlError};
