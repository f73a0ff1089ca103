//! The tests of this crate, in one program that is linked once. A test that changes or measures its whole process is a
//! program of its own, beside this folder.

#![allow(clippy::unwrap_used, reason = "a test ends where it cannot go on")]

mod change;
mod creating;
mod exclusive;
mod extents;
mod files;
mod group_commit;
mod handles;
mod leases;
mod listing;
mod locks;
mod metadata;
mod overlay;
mod permissions;
mod power_failure;
mod read_ahead;
mod waiting;
mod write_errors;
