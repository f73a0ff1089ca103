//! [`MemFs`]: a complete [`FileSystem`](vfs::FileSystem) that lives in memory.
//!
//! Everything is gone when the last reference to it goes: a handle or a cookie from before a restart is refused as
//! stale, and never names another file.
//!
//! # Locks
//!
//! Every node has one read-write lock over its attributes and content; the table from numbers to nodes is split into
//! shards. Nothing else is shared by reads, and reads of one open file take only that file's lock, for reading.
//!
//! Locks are taken in this order, which no operation departs from:
//!
//! 1. the volume's rename lock, by renames between two directories only: while it is held, no directory gets another
//!    parent, so it is certain which directories are above which;
//! 2. directories, the one above before the one below; of two where neither is above the other, any first, because only
//!    the holder of the rename lock ever holds two such;
//! 3. one node named in a directory that is held; further ones only after that lock was given back;
//! 4. a shard of the table, for one look-up or change.
//!
//! No lock is held while a caller's code runs (the consumer of a listing), nor while the pages of a file are freed
//! because it lost its last name.
#![forbid(unsafe_code)]

mod acls;
mod create;
mod directory;
mod file;
mod filesystem;
mod lock;
mod node;
mod options;
mod pages;
mod remove;
mod rename;
mod set;
mod space;
mod table;
mod volume;
mod xattrs;

pub use filesystem::MemFs;
pub use options::{Clock, MemOptions};
