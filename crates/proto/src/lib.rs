//! The wire types of the protocols that Wharf supports, one module per protocol and one per operation.
//!
//! The types contain no behaviour. An [`Operation`] connects a procedure's number with its arguments and its reply, for
//! clients and servers alike.
#![forbid(unsafe_code)]

mod file_handle;
pub mod mount;
pub mod nfs2;
pub mod nfs3;
pub mod nfs4;
pub mod nfsacl;
pub mod nlm;
pub mod nsm;
mod operation;
mod res;
pub mod rpcbind;

/// The most bytes of data, of a link's target or of an extended attribute that a server decodes. It is more than a
/// message has, so that a server refuses what is too long by its status, and can write a part of the data.
pub const MAX_ARGUMENT_BYTES: usize = 2 << 20;

pub use file_handle::FileHandle;
pub use operation::Operation;
pub use res::{Res, StatusCode};
