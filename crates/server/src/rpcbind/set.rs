//! SET (RFC 1833 §2.2.1, §3.2).

use std::net::{Ipv4Addr, SocketAddr};

use peer::Transport;
use proto::rpcbind::portmap::{self, Mapping};
use proto::rpcbind::{Rpcb, UniversalAddress};

use super::registry::{RegisteredService, transport_of};
use crate::node::CallContext;

/// The lowest port that unprivileged users may send from.
const FIRST_UNPRIVILEGED_PORT: u16 = 1024;

/// SET of version 2, which has no addresses: the service is at all of them.
pub(super) fn set_mapping(cx: &CallContext<'_>, mapping: &Mapping) -> bool {
    let (Some(transport), Ok(port)) = (transport(mapping.protocol), u16::try_from(mapping.port)) else { return false };
    let address = SocketAddr::from((Ipv4Addr::UNSPECIFIED, port));
    let Mapping { program, version, .. } = *mapping;
    add(cx, portmap::VERSION, RegisteredService { program, version, transport, address, is_own: false })
}

/// SET of versions 3 and 4.
pub(super) fn set(cx: &CallContext<'_>, rpcbind_version: u32, args: &Rpcb<'_>) -> bool {
    let (Some((transport, is_ipv6)), Ok(UniversalAddress(address))) =
        (transport_of(args.netid), UniversalAddress::parse(args.address))
    else {
        return false;
    };
    let Rpcb { program, version, .. } = *args;
    let service = RegisteredService { program, version, transport, address, is_own: false };
    address.is_ipv6() == is_ipv6 && add(cx, rpcbind_version, service)
}

fn add(cx: &CallContext<'_>, rpcbind_version: u32, service: RegisteredService) -> bool {
    let added = may_change(cx) && cx.server.registry.add(service);
    if added {
        cx.server.registry.count_set(rpcbind_version);
    }
    added
}

/// Whether the caller may change the registry: only the superuser of this machine, who calls from a loopback address
/// and a privileged port.
pub(super) fn may_change(cx: &CallContext<'_>) -> bool {
    let client = cx.client();
    client.ip().to_canonical().is_loopback() && client.port() < FIRST_UNPRIVILEGED_PORT
}

/// The transport for an IP protocol number of version 2.
pub(super) fn transport(protocol: u32) -> Option<Transport> {
    match protocol {
        Mapping::TCP => Some(Transport::Tcp),
        Mapping::UDP => Some(Transport::Udp),
        _ => None,
    }
}
