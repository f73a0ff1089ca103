//! DUMP (RFC 1833 §2.2.1, §3.2).

use peer::Transport;
use proto::rpcbind::portmap::{self, Mapping};
use proto::rpcbind::{DumpReply, Rpcb, UniversalAddress};
use xdr::{Encode, Encoder};

use super::registry::RegisteredService;
use crate::node::CallContext;
use crate::transfer;

/// The owner shown for all services: only the superuser of this machine can register them.
const OWNER: &[u8] = b"superuser";

/// An upper bound for one service in a reply, which the longest IPv6 address does not reach.
const MAX_SERVICE_BYTES: usize = 128;

/// DUMP of version 2, which only knows IPv4.
pub(super) fn dump_mappings(cx: &CallContext<'_>) -> portmap::DumpReply {
    portmap::DumpReply {
        mappings: fitting(cx).iter().filter(|service| service.address.is_ipv4()).map(mapping).collect(),
    }
}

fn mapping(service: &RegisteredService) -> Mapping {
    let protocol = match service.transport {
        Transport::Tcp => Mapping::TCP,
        Transport::Udp => Mapping::UDP,
    };
    let port = u32::from(service.address.port());
    Mapping { program: service.program, version: service.version, protocol, port }
}

/// DUMP of versions 3 and 4.
pub(super) fn dump(cx: &CallContext<'_>, to: &mut Encoder<'_>) {
    let services = fitting(cx);
    let addresses: Vec<_> = services.iter().map(|service| UniversalAddress(service.address).to_string()).collect();
    let services = services.iter().zip(&addresses).map(|(service, address)| rpcb(service, address)).collect();
    DumpReply { services }.encode(to);
}

fn rpcb<'s>(service: &RegisteredService, address: &'s str) -> Rpcb<'s> {
    Rpcb {
        program: service.program,
        version: service.version,
        netid: service.netid(),
        address: address.as_bytes(),
        owner: OWNER,
    }
}

/// The services that fit into a reply of this transport.
fn fitting(cx: &CallContext<'_>) -> Vec<RegisteredService> {
    let mut services = cx.server.registry.services();
    services.truncate(transfer::max_bytes(cx) as usize / MAX_SERVICE_BYTES);
    services
}
