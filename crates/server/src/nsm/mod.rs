//! The status monitor, version 1 (X/Open XNFS), one module per procedure: hosts that restarted tell it here.
//!
//! It watches hosts for this server's own lock manager alone. Others on this machine that ask it to watch a host are told that
//! it cannot, and SIMU_CRASH, by which anybody could have all clients told of a restart, is not there.

mod notices;
mod notify;
mod stat;
mod unmon;

use buffer::Output;
use proto::nsm::{MonArgs, MonId, MyId, NotifyArgs, StatArgs};
use rpc::Call;
use xdr::{Decode, Encode, Encoder};

use crate::fault::Stop;
use crate::node::CallContext;

pub(crate) use notices::Notices;
pub(crate) use notify::Restarts;

/// Carries out one procedure and appends its results.
pub(crate) fn run(cx: &CallContext<'_>, call: &Call<'_>, output: &mut Output) -> Result<(), Stop> {
    let from = &mut call.arguments.clone();
    let to = &mut Encoder::new(&mut output.bytes);
    match call.procedure.number {
        0 => {}
        1 => StatArgs::decode(from).map(|_| stat::not_watched(cx))?.encode(to),
        2 => MonArgs::decode(from).map(|_| stat::not_watched(cx))?.encode(to),
        3 => MonId::decode(from).map(|_| unmon::state(cx))?.encode(to),
        4 => MyId::decode(from).map(|_| unmon::state(cx))?.encode(to),
        6 => notify::notify(cx, &NotifyArgs::decode(from)?),
        _ => return Err(Stop::NoProcedure),
    }
    Ok(())
}
