//! A directory of the host as a [`FileSystem`](vfs::FileSystem).
//!
//! [`HostFs::open`] takes a directory; everything below it on the same file system can be served. What always holds:
//!
//! - **Handles** survive a restart, follow a file through renames, and go stale when it is gone. Privileged
//!   (`CAP_DAC_READ_SEARCH`) they are the kernel's; otherwise numbers from a store in the state directory.
//! - **Nothing leads out.** Symbolic links are never followed, names are looked up one at a time below an open
//!   directory, and another file system that is mounted below the export is not entered: its mount point shows in
//!   listings by name and refuses everything else with [`AccessDenied`](vfs::Error::AccessDenied). Where another export
//!   begins, this one ends ([`set_borders`](vfs::FileSystem::set_borders)).
//! - **No device, FIFO or socket is ever opened**: files are held by descriptors that only name them (`O_PATH`), and
//!   opened for real when they are known to be regular files or directories.
//! - **Identity.** When the process is root, whatever changes the tree runs as the caller, on this thread alone. The
//!   thread *stays* the caller until a call needs another identity: code that shares the thread and touches files by
//!   itself calls [`act_as_server`] first.
//! - **What may wait.** On a thread that may not block, reads of bytes that are not in memory, synchronous writes,
//!   syncs, all that deals with holes, copies and (with [`HostOptions::sync_metadata`]) all changes of the tree answer
//!   [`WouldBlock`](vfs::Error::WouldBlock), except on memory file systems. Unstable writes go to the page cache right
//!   away; the kernel holds them up only when too much of it is dirty. Names are looked up in the kernel's memory, and
//!   listed from this process's, else by a thread that may wait. Attributes are fetched right away, since Linux offers
//!   no way to try it: cold ones wait for the disk.
//!
//! Opening the first export sets the process's file creation mask to 0, so that modes come out as callers ask, and
//! raises the soft limit of open files to the hard one. /proc must be mounted.

mod access;
mod acl;
mod attributes;
mod borders;
mod cache;
mod create;
mod directory;
mod extents;
mod failure;
mod file;
mod find_stored;
mod flush;
mod form;
mod handles;
mod held;
mod host;
mod identity;
mod kernel_handles;
mod lease;
mod lease_keeper;
mod lease_terms;
mod link;
mod lock_file;
mod lock_holder;
mod lock_ranges;
mod log_mark;
mod lookup;
mod lookup_pace;
mod made;
mod make_node;
mod memory;
mod metadata;
mod mounts;
mod node;
mod open;
mod options;
mod posix_acl;
mod proc_path;
mod read_ahead;
mod remove;
mod rename;
mod resident;
mod resolve;
mod search;
mod set_attributes;
mod shared_store;
mod shortfalls;
mod storage_rules;
mod store;
mod survey;
mod sync;
#[allow(unsafe_code)]
mod sys;
mod uncommitted;
mod verifier;
mod volume;
mod walk;
mod whereabouts;
mod xattr;

pub use flush::{FlushCounters, FlushCounts, whole_flushes_report_failures};
pub use host::HostFs;
pub use identity::act_as_server;
pub use memory::lost_with_power;
pub use metadata::MetadataMemory;
pub use mounts::{Mount, mounts, mounts_in};
pub use open::{Examined, OpenError};
pub use options::{GoneListener, HandleForm, HostOptions};
pub use read_ahead::{ReadAhead, ReadAheadCounts, ReadAheadMode};
pub use shortfalls::left_in_cache;
pub use survey::survey;
pub use whereabouts::is_inside;
