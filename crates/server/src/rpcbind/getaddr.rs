//! GETPORT (RFC 1833 §3.2), GETADDR (§2.2.1) and GETVERSADDR (§2.2.2).

use peer::Transport;
use proto::rpcbind::portmap::Mapping;
use proto::rpcbind::{Rpcb, Uaddr, UniversalAddress};
use xdr::{Encode, Encoder};

use super::registry::{ServiceQuery, transport_of};
use super::set;
use crate::node::CallContext;

/// The port, or 0. Another version of the program is accepted: its own reply then lists the supported versions.
pub(super) fn getport(cx: &CallContext<'_>, mapping: &Mapping) -> u32 {
    let Some(transport) = set::transport(mapping.protocol) else { return 0 };
    let (program, version) = (mapping.program, mapping.version);
    let wanted = ServiceQuery { program, version, any_version: true, transport, is_ipv6: false };
    let found = cx.server.registry.find(&wanted, &cx.request.peer);
    found.map_or(0, |service| u32::from(service.address.port()))
}

/// The address of the requested version, or else of any other.
pub(super) fn getaddr(cx: &CallContext<'_>, args: &Rpcb<'_>, to: &mut Encoder<'_>) {
    find(cx, args, true, to);
}

/// The address of exactly the requested version.
pub(super) fn getversaddr(cx: &CallContext<'_>, args: &Rpcb<'_>, to: &mut Encoder<'_>) {
    find(cx, args, false, to);
}

fn find(cx: &CallContext<'_>, args: &Rpcb<'_>, any_version: bool, to: &mut Encoder<'_>) {
    let peer = &cx.request.peer;
    let (transport, is_ipv6) = transport(cx, args);
    let wanted = ServiceQuery { program: args.program, version: args.version, any_version, transport, is_ipv6 };
    let found = cx.server.registry.find(&wanted, peer);
    let text = found.map(|service| UniversalAddress(service.address_for(peer)).to_string()).unwrap_or_default();
    Uaddr { text: text.as_bytes() }.encode(to);
}

/// The requested transport, or else that of the call. §2.2.1 mentions both; callers that name one mostly use it.
fn transport(cx: &CallContext<'_>, args: &Rpcb<'_>) -> (Transport, bool) {
    let peer = &cx.request.peer;
    transport_of(args.netid).unwrap_or((peer.transport, peer.local.ip().to_canonical().is_ipv6()))
}
