//! What NFS clients of this program count, as FreeBSD's nfsstat(1) tells it, and more.

mod document;
mod layout;
mod operations;
mod options;
mod own;

pub use own::{OwnFlags, OwnMounts};
