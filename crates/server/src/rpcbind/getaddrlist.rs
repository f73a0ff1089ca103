//! GETADDRLIST (RFC 1833 §2.2.2).

use peer::Transport;
use proto::rpcbind::{Entry, GetaddrlistReply, MAX_ADDRESSES, Rpcb, Semantics, UniversalAddress};
use xdr::{Encode, Encoder};

use super::registry::RegisteredService;
use crate::node::CallContext;

/// All addresses of exactly the requested version.
pub(super) fn getaddrlist(cx: &CallContext<'_>, args: &Rpcb<'_>, to: &mut Encoder<'_>) {
    let mut services = cx.server.registry.services();
    services.retain(|service| (service.program, service.version) == (args.program, args.version));
    services.truncate(MAX_ADDRESSES);
    let peer = &cx.request.peer;
    let addresses: Vec<_> =
        services.iter().map(|service| UniversalAddress(service.address_for(peer)).to_string()).collect();
    let entries = services.iter().zip(&addresses).map(|(service, address)| entry(service, address)).collect();
    GetaddrlistReply { entries }.encode(to);
}

fn entry<'s>(service: &RegisteredService, address: &'s str) -> Entry<'s> {
    let (semantics, protocol): (_, &[u8]) = match service.transport {
        Transport::Tcp => (Semantics::OrderlyConnection, b"tcp"),
        Transport::Udp => (Semantics::Datagrams, b"udp"),
    };
    let family = if service.address.is_ipv4() { b"inet".as_slice() } else { b"inet6" };
    Entry { address: address.as_bytes(), netid: service.netid(), semantics, family, protocol }
}
