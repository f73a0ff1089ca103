//! UNSET (RFC 1833 §2.2.1, §3.2). Services of this server itself stay registered.

use proto::rpcbind::Rpcb;
use proto::rpcbind::portmap::{self, Mapping};

use super::registry::RegisteredService;
use super::set::may_change;
use crate::node::CallContext;

/// UNSET of version 2: for all of its transports.
pub(super) fn unset_mapping(cx: &CallContext<'_>, mapping: &Mapping) -> bool {
    let (program, version) = (mapping.program, mapping.version);
    let is_meant = |service: &RegisteredService| service.address.is_ipv4() && service.is(program, version);
    remove(cx, portmap::VERSION, is_meant)
}

/// UNSET of versions 3 and 4: for one transport, or for all when none is named.
pub(super) fn unset(cx: &CallContext<'_>, rpcbind_version: u32, args: &Rpcb<'_>) -> bool {
    let is_meant = |service: &RegisteredService| {
        service.is(args.program, args.version) && (args.netid.is_empty() || service.netid() == args.netid)
    };
    remove(cx, rpcbind_version, is_meant)
}

fn remove(cx: &CallContext<'_>, rpcbind_version: u32, is_meant: impl Fn(&RegisteredService) -> bool) -> bool {
    let removed = may_change(cx) && cx.server.registry.remove(is_meant);
    if removed {
        cx.server.registry.count_unset(rpcbind_version);
    }
    removed
}

impl RegisteredService {
    fn is(&self, program: u32, version: u32) -> bool {
        (self.program, self.version) == (program, version)
    }
}
