//! NFS version 4 (RFC 7530, RFC 8881, RFC 7862), one module per operation; minor versions are data of one
//! implementation.

mod access;
mod acl;
mod allocate;
mod attributes;
mod backchannel_ctl;
mod bind_conn_to_session;
mod callback;
mod change;
mod clone;
mod close;
mod commit;
mod compound;
mod copies;
mod copy;
mod copy_from_server;
mod copy_job;
mod copy_notify;
mod create;
mod create_session;
mod delegation;
mod delegreturn;
mod destroy_clientid;
mod destroy_session;
mod exchange_id;
mod failure;
mod getattr;
mod getfh;
mod getxattr;
mod io_advise;
mod link;
mod listxattrs;
mod lock;
mod lockt;
mod locku;
mod lookup;
mod lookupp;
mod non_idempotent;
mod offload_cancel;
mod offload_status;
mod open;
mod open_confirm;
mod open_downgrade;
mod operations;
mod owner;
mod owner_seqid;
mod paused;
mod progress;
mod putfh;
mod putrootfh;
mod read;
mod read_plus;
mod readdir;
mod readlink;
mod reclaim_complete;
mod release_lockowner;
mod remove;
mod removexattr;
mod rename;
mod renew;
mod reply_room;
mod resent;
mod restorefh;
mod run_compound;
mod savefh;
mod secinfo;
mod seek;
mod sequence;
mod session;
mod set;
mod setattr;
mod setclientid;
mod setxattr;
mod source;
mod state_error;
mod stateids;
mod verify;
mod write;
mod xattr;

use buffer::Output;
use rpc::Call;

use crate::fault::NoResults;
use crate::node::CallContext;

pub(crate) use callback::Callbacks;
pub(crate) use copies::{Copies, CopyNotices};
pub(crate) use non_idempotent::is_non_idempotent;
pub(crate) use paused::PausedCompounds;

/// Runs one procedure and appends its results.
pub(crate) fn run(cx: &CallContext<'_>, call: &Call<'_>, output: &mut Output) -> Result<(), NoResults> {
    match call.procedure.number {
        0 => Ok(()),
        1 => run_compound::run(cx, call, output),
        _ => Err(NoResults::NoProcedure),
    }
}
