//! Wharf's NFS client: versions 2, 3, 4.0, 4.1 and 4.2, asynchronous and pipelined.
//!
//! Applications use a [`Mount`], made from a [`Url`] and [`Options`], which has every operation for all versions of
//! NFS. [`Dir`] and [`File`] add paths, open files and caches, and [`Cursor`] implements tokio's I/O traits. Below, a
//! [`Connection`] carries typed calls of any program, and [`core`] is its state without socket and clock. [`rpcbind`]
//! and [`mountd`] query a server; [`copy`] copies whole trees.
//!
//! Everything runs on a tokio runtime with timers and network (`enable_all`).
//!
#![doc = include_str!("../README.md")]
//!
//! This crate has no code: it re-exports what applications use of the crates that make up the client.
#![forbid(unsafe_code)]

pub use bytes::Bytes;
#[doc(inline)]
pub use client_files::{
    Access, CacheCounters, Caching, Connection, Copied, Copying, Counters, Credentials, Cursor, Data, Detail, Dir,
    DirEntry, Entries, Entry, Error, Extent, File, Follow, FsInfo, Handle, HeldState, Histogram, HitsMisses, Label,
    Lie, Listing, Location, LockKind, Meter, Mount, MountRefusal, NameCaching, NoExport, OpenOptions,
    OperationCounters, Options, Parameters, PathError, PathLimits, Piece, Procedure, ProcedureStatistics, ReadInto,
    Reason, Response, Result, Rights, Segment, Segments, SessionLimit, Sizes, SpecialFile, Statistics, Status,
    Transport, Tunnel, Url, UrlError, Version, WriteVerifier, Written, XattrMode, core, hurry, leave_servers, mountd,
    place, rpcbind, v4,
};
#[doc(inline)]
pub use fs_remote::{CallerRuntime, RemoteFs};
pub use vfs::{Attributes, CreateMode, Device, FileKind, SetAttributes, SetTime, Space, Stability, Timestamp};
#[doc(no_inline)]
pub use {proto, vfs};

/// Copies of whole trees between this machine and a mounted export, and between exports.
pub mod copy {
    #[doc(inline)]
    pub use client_copy::*;
}
