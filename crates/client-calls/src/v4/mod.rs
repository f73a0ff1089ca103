//! Operations of NFSv4 in its minor versions 0, 1 and 2 (RFC 7530, RFC 8881, RFC 7862) that need no state of this
//! client. Each is one module, from neutral arguments to neutral results, sent as one COMPOUND by a [`Caller`].
//!
//! The others are in `client-files`, because their arguments and results are that state: OPEN, CLOSE, LOCK, LOCKT and
//! LOCKU count an owner's sequence numbers, EXCHANGE_ID, SETCLIENTID and CREATE_SESSION make a client and its session,
//! and RENEW keeps its lease.

mod access;
mod allocate;
pub mod attributes;
mod bind_conn_to_session;
mod caller;
mod clone;
mod commit;
mod copy;
mod create;
mod deallocate;
mod delegreturn;
mod destroy_clientid;
mod destroy_session;
pub mod dir_change;
mod free_stateid;
mod getattr;
mod getxattr;
mod link;
mod listxattrs;
mod lookup;
mod lookupp;
mod offload_cancel;
mod offload_status;
mod owners;
mod putfh;
mod read;
mod read_plus;
mod readdir;
mod readlink;
mod remove;
mod removexattr;
mod rename;
mod reply;
mod request;
mod resolve_owners;
mod seek;
mod setattr;
mod setxattr;
mod test_stateid;
mod wire;
mod write;

pub use access::access;
pub use allocate::allocate;
pub use bind_conn_to_session::bind_conn_to_session;
pub use caller::Caller;
pub use clone::clone;
pub use commit::commit;
pub use copy::{Began, CopyReply, Transfer, copied, copy};
pub use create::{mkdir, mknod, symlink};
pub use deallocate::deallocate;
pub use delegreturn::delegreturn;
pub use destroy_clientid::destroy_clientid;
pub use destroy_session::destroy_session;
pub use free_stateid::free_stateid;
pub use getattr::{fsinfo, fsstat, getattr, pathconf};
pub use getxattr::getxattr;
pub use link::link;
pub use listxattrs::listxattrs;
pub use lookup::{lookup, root};
pub use lookupp::lookupp;
pub use offload_cancel::offload_cancel;
pub use offload_status::offload_status;
pub use putfh::putfh;
pub use read::read;
pub use read_plus::read_plus;
pub use readdir::{readdir, readdirplus};
pub use readlink::readlink;
pub use remove::{remove, rmdir};
pub use removexattr::removexattr;
pub use rename::rename;
pub use reply::{Reply, Results};
pub use request::{NEEDED_OPERATIONS, Request, Told, WriteTail};
pub use resolve_owners::resolve_owners;
pub use seek::seek;
pub use setattr::setattr;
pub use setxattr::setxattr;
pub use test_stateid::test_stateid;
pub use wire::Wire;
pub use write::{wire as wire_stability, write, write_as};
