//! FREE_ALL (RFC 1813 appendix II): a host that no monitor watched announces its restart itself.

use std::net::IpAddr;
use std::time::Duration;

use proto::nlm::FreeAllArgs;

use super::HostKey;
use crate::node::CallContext;
use crate::server::Server;

pub(super) fn free_all(cx: &CallContext<'_>, args: &FreeAllArgs<'_>) {
    free_host(cx.server, cx.client().ip(), args.name, cx.request.now);
}

/// Releases the locks and waits of the host at `address` that may use the name `name`.
pub(crate) fn free_host(server: &Server, address: IpAddr, name: &[u8], now: Duration) {
    let is_gone = |key: &[u8]| HostKey::is_key_of(key, address, name);
    server.waits.end_hosts(|host| host.is_called(address, name));
    let hosts = server.state.nlm_free_hosts(now, is_gone);
    tracing::info!(%address, host = %name.escape_ascii(), hosts, "a host restarted; its locks are free");
}
