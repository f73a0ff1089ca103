//! The status monitor, version 1 (X/Open XNFS), one module per procedure: restarted hosts notify it.
//!
//! It watches hosts only for this server's lock manager. Requests of other programs on this machine to watch a host
//! fail. SIMU_CRASH is not offered: with it, anybody could notify all clients of a restart.

mod notices;
mod notify;
mod restarts;
mod stat;
mod tell;
mod unmon;

use buffer::Output;
use proto::nsm::{MonArgs, MonId, MyId, NotifyArgs, StatArgs};
use rpc::Call;
use xdr::{Decode, Encode, Encoder};

use crate::fault::NoResults;
use crate::node::CallContext;

pub(crate) use notices::Notices;
pub(crate) use restarts::Restarts;
pub(crate) use tell::send_notices;

/// Runs one procedure and appends its results.
pub(crate) fn run(cx: &CallContext<'_>, call: &Call<'_>, output: &mut Output) -> Result<(), NoResults> {
    let from = &mut call.arguments.clone();
    let to = &mut Encoder::new(&mut output.bytes);
    match call.procedure.number {
        0 => {}
        1 => StatArgs::decode(from).map(|_| stat::not_watched(cx))?.encode(to),
        2 => MonArgs::decode(from).map(|_| stat::not_watched(cx))?.encode(to),
        3 => MonId::decode(from).map(|_| unmon::state(cx))?.encode(to),
        4 => MyId::decode(from).map(|_| unmon::state(cx))?.encode(to),
        6 => notify::notify(cx, &NotifyArgs::decode(from)?),
        _ => return Err(NoResults::NoProcedure),
    }
    Ok(())
}
