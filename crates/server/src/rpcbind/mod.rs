//! The built-in rpcbind: the port mapper of version 2 (RFC 1833 §3), and versions 3 and 4 (§2), one module per
//! procedure.
//!
//! It serves the services in its [`Registry`]. It forwards no calls: CALLIT, BCAST and INDIRECT are refused, since a
//! forged sender address would direct the replies of all services to a victim. The rpcbind of Linux refuses them too by
//! default.

mod callit;
mod dump;
mod getaddr;
mod getaddrlist;
mod getstat;
mod gettime;
mod registry;
mod set;
mod taddr;
mod unset;

use buffer::Output;
use proto::rpcbind::Rpcb;
use proto::rpcbind::portmap::Mapping;
use rpc::Call;
use xdr::{Decode, Decoder, Encode, Encoder};

use crate::fault::NoResults;
use crate::node::CallContext;

pub use registry::{RegisteredService, Registry};

/// Runs one procedure and appends its results.
pub(crate) fn run(cx: &CallContext<'_>, call: &Call<'_>, output: &mut Output) -> Result<(), NoResults> {
    let from = &mut call.arguments.clone();
    let to = &mut Encoder::new(&mut output.bytes);
    match call.procedure.version {
        2 => run_portmap(cx, call.procedure.number, from, to),
        version => run_rpcbind(cx, version, call.procedure.number, from, to),
    }
}

fn run_portmap(
    cx: &CallContext<'_>,
    number: u32,
    from: &mut Decoder<'_>,
    to: &mut Encoder<'_>,
) -> Result<(), NoResults> {
    match number {
        0 => {}
        1 => set::set_mapping(cx, &Mapping::decode(from)?).encode(to),
        2 => unset::unset_mapping(cx, &Mapping::decode(from)?).encode(to),
        3 => getaddr::getport(cx, &Mapping::decode(from)?).encode(to),
        4 => dump::dump_mappings(cx).encode(to),
        5 => return Err(callit::refuse(cx)),
        _ => return Err(NoResults::NoProcedure),
    }
    Ok(())
}

fn run_rpcbind(
    cx: &CallContext<'_>,
    version: u32,
    number: u32,
    from: &mut Decoder<'_>,
    to: &mut Encoder<'_>,
) -> Result<(), NoResults> {
    match (version, number) {
        (_, 0) => {}
        (_, 1) => set::set(cx, version, &Rpcb::decode(from)?).encode(to),
        (_, 2) => unset::unset(cx, version, &Rpcb::decode(from)?).encode(to),
        (_, 3) => getaddr::getaddr(cx, &Rpcb::decode(from)?, to),
        (_, 4) => dump::dump(cx, to),
        (_, 5) => return Err(callit::refuse(cx)),
        (_, 6) => gettime::gettime(cx).encode(to),
        (_, 7) => taddr::uaddr2taddr(from, to)?,
        (_, 8) => taddr::taddr2uaddr(from, to)?,
        (4, 9) => getaddr::getversaddr(cx, &Rpcb::decode(from)?, to),
        // INDIRECT returns failures; "no such procedure" is one.
        (4, 10) => return Err(NoResults::NoProcedure),
        (4, 11) => getaddrlist::getaddrlist(cx, &Rpcb::decode(from)?, to),
        (4, 12) => getstat::getstat(cx).encode(to),
        _ => return Err(NoResults::NoProcedure),
    }
    Ok(())
}
