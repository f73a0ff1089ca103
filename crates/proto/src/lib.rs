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
pub mod nlm;
pub mod nsm;
mod operation;
mod res;
pub mod rpcbind;

pub use file_handle::FileHandle;
pub use operation::Operation;
pub use res::{Res, StatusCode};
