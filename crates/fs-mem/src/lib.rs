//! [`MemFs`]: a complete [`FileSystem`](vfs::FileSystem) in memory.
//!
//! Its files are lost with the last reference to it. A handle or cookie from before a restart is refused as stale, and
//! never leads to another file.
//!
//! # Locks
//!
//! Every node has one read-write lock for its attributes and content. The table of nodes is split into shards. Reads
//! share nothing else, and reads of an open file take only that file's lock, for reading.
//!
//! Locks are taken in this order:
//!
//! 1. The volume's rename lock, for renames between two directories. It prevents changes of any directory's parent.
//! 2. Directories, the parent before the child. Two unrelated ones may be taken in any order, because only the holder
//!    of the rename lock takes two.
//! 3. One node with a name in a locked directory. A further one only after that lock was released.
//! 4. A shard of the table, for one operation.
//!
//! No lock is held while code of the caller runs (the consumer of a listing), or while the pages of a removed file are
//! freed.
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
