//! The tests of this crate, in one program that is linked once. A test that changes or measures its whole process is a
//! program of its own, beside this folder.

#![allow(clippy::unwrap_used, reason = "a test ends where it cannot go on")]

mod ahead;
mod breaking;
mod commit;
mod crash;
mod damaged_header;
mod every_kind;
mod failing_device;
mod failing_storage;
mod flushed_attributes;
mod host;
mod late_zeros;
mod local_changes;
mod log;
mod lost_pages;
mod marks;
mod power_failure;
mod set_aside;
mod set_id_bits;
mod shared_files;
mod support;
