//! NFSv4 in its minor versions 0, 1 and 2 (RFC 7530, RFC 8881, RFC 7862). [`Client`] has the client's identity,
//! session, opens, locks and delegations, and recovers them. Each of its operations is one module; those that need no
//! state of the client are in `client_calls::v4`.
//!
//! [`Mount`](crate::Mount) and [`File`](crate::File) hide all of it. Use it directly to supply a stateid of your own,
//! as a server that copies from another server does.
//!
//! # Files that use each other
//! `client.rs`, `opens.rs` and `open_file.rs` use each other. A client knows its open files, so that it can reclaim
//! them after a restart of the server, and each open file sends its requests through its client. Everything else that
//! the client keeps depends on none of them. By methods of `Client`, `client.rs` reaches `recovery.rs` and `watch.rs`
//! too: a call that loses its session recovers the client.

mod back_slots;
mod cached_files;
mod callback;
mod callback_listener;
mod cb_getattr;
mod changes;
mod client;
mod close;
mod connect;
mod copy;
mod create;
mod create_session;
mod delegation_return;
mod delegations;
mod departure;
mod exchange_id;
mod handled_flags;
mod held_locks;
mod holdings;
mod identity;
mod listening;
mod lock;
mod lockt;
mod locku;
mod moved;
mod null;
mod offload;
mod offloads;
mod open;
mod open_confirm;
mod open_file;
mod opening;
mod opens;
mod owner;
mod read;
mod recovery;
mod registration;
mod renewal;
mod reopen;
mod session;
mod setclientid;
mod slots;
mod unused;
mod verdicts;
mod watch;

pub use client::Client;
#[doc(hidden)]
pub use client_calls::v4::{Caller, Reply, Request};
pub use delegations::Kind;
pub use departure::{hurry, leave_servers};
pub use proto::nfs4::{MinorVersion, Stateid};
pub(crate) use unused::Unused;
pub(crate) use verdicts::is_about_state;

pub(crate) use cached_files::CachedFiles;
pub(crate) use changes::{remove, rename, rmdir, setattr, setattr_as};
pub(crate) use copy::{Begun, begin_copy, copy};
pub(crate) use create::create;
pub(crate) use held_locks::{HeldLock, HeldLocks};
pub(crate) use holdings::Holdings;
pub(crate) use null::null;
pub(crate) use open_file::OpenFile;
pub(crate) use opening::{Opening, Share, Target};
pub(crate) use read::read;

pub(crate) use client_calls::v4::{
    Told, Transfer, WriteTail, access, allocate, clone, commit, deallocate, fsinfo, fsstat, getattr, getxattr, link,
    listxattrs, lookup, lookupp, mkdir, mknod, pathconf, read_plus, readdir, readdirplus, readlink, removexattr, root,
    seek, setxattr, symlink, wire_stability, write, write_as,
};
