//! Locks of NFSv2 and NFSv3, through the server's lock manager (NLM; RFC 1813 appendix II).
//!
//! No call waits for a lock at the server: waiters ask again, so that the server never calls back. A restart of the
//! server is detected by testing for a lock held here; if that is lost, all locks are reclaimed. See decision 14.
//!
//! `table.rs`, `owner.rs` and `mount/mod.rs` use each other: a mount keeps the owners of its locks, so that all are
//! reclaimed together, and each owner calls through its mount.

mod ask;
mod call;
mod file_locks;
mod link;
mod owner;
mod recovery;
mod svid;
mod table;

pub(crate) use ask::has_lock_manager;
pub(crate) use file_locks::FileLocks;
pub(crate) use table::Nlm;
