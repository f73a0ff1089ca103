//! NFSv4 in its minor versions 0, 1 and 2 (RFC 7530, RFC 8881, RFC 7862). Each operation is one module, from neutral
//! arguments to neutral results; [`Client`] sends them.
//!
//! [`Mount`](crate::Mount) and [`File`](crate::File) hide all of it. Use it directly to supply a stateid of your own,
//! as a server that copies from another server does.

mod access;
mod allocate;
mod attributes;
mod back_slots;
mod bind_conn_to_session;
mod callback;
mod callback_listener;
mod cb_getattr;
mod client;
mod clone;
mod close;
mod commit;
mod copy;
mod create;
mod create_session;
mod deallocate;
mod delegation_return;
mod delegations;
mod delegreturn;
mod departure;
mod destroy_clientid;
mod destroy_session;
mod dir_change;
mod exchange_id;
mod free_stateid;
mod getattr;
mod getxattr;
mod held_locks;
mod holdings;
mod identity;
mod link;
mod listxattrs;
mod lock;
mod lockt;
mod locku;
mod lookup;
mod lookupp;
mod moved;
mod null;
mod offload_cancel;
mod offload_status;
mod offloads;
mod open;
mod open_confirm;
mod open_file;
mod opens;
mod owner;
mod principal;
mod read;
mod read_plus;
mod readdir;
mod readlink;
mod recovery;
mod remove;
mod removexattr;
mod rename;
mod renewal;
mod reply;
mod request;
mod seek;
mod session;
mod setattr;
mod setclientid;
mod setxattr;
mod slots;
mod test_stateid;
mod unused;
mod watch;
mod wire;
mod write;

pub use client::Client;
pub use delegations::Kind;
pub use departure::leave_servers;
pub use proto::nfs4::{MinorVersion, Stateid};
pub(crate) use unused::Unused;

pub(crate) use access::access;
pub(crate) use allocate::allocate;
pub(crate) use clone::clone;
pub(crate) use commit::commit;
pub(crate) use copy::{Begun, Transfer, begin_copy, copy};
pub(crate) use create::{create, mkdir, mknod, symlink};
pub(crate) use deallocate::deallocate;
pub(crate) use getattr::{fsinfo, fsstat, getattr, pathconf};
pub(crate) use getxattr::getxattr;
pub(crate) use held_locks::{HeldLock, HeldLocks};
pub(crate) use holdings::Holdings;
pub(crate) use link::link;
pub(crate) use listxattrs::listxattrs;
pub(crate) use lookup::{lookup, root};
pub(crate) use lookupp::lookupp;
pub(crate) use null::null;
pub(crate) use open::{Opening, Target};
pub(crate) use open_file::{OpenFile, Share, is_about_state};
pub(crate) use read::read;
pub(crate) use read_plus::read_plus;
pub(crate) use readdir::{readdir, readdirplus};
pub(crate) use readlink::readlink;
pub(crate) use remove::{remove, rmdir};
pub(crate) use removexattr::removexattr;
pub(crate) use rename::rename;
pub(crate) use request::{Told, WriteTail};
pub(crate) use seek::seek;
pub(crate) use setattr::{setattr, setattr_as};
pub(crate) use setxattr::setxattr;
pub(crate) use write::{wire as wire_stability, write, write_as};

use proto::nfs4::{ArgOp, PutfhArgs};

use crate::Handle;

/// Makes a file the current one.
fn putfh(file: &Handle) -> ArgOp<'static> {
    ArgOp::Putfh(PutfhArgs { object: (*file).into() })
}
