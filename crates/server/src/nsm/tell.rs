//! After a restart, notifies the hosts that held locks, so that they reclaim them (X/Open XNFS, NOTIFY).
//!
//! The state manager's records tell whom to notify. Each NOTIFY is repeated until the host answers, reclaims, or may no
//! longer reclaim.

use std::net::SocketAddr;
use std::time::Duration;

use peer::Transport;
use proto::nsm::{Notify, NotifyArgs};

use crate::callout::CalloutResult;
use crate::nlm::HostKey;
use crate::remote::{Remote, RemoteCallout};
use crate::rpcbind::RegisteredService;
use crate::server::Server;

/// Notifies the hosts that are due.
pub(crate) fn send_notices(server: &Server, now: Duration) {
    if server.notices.is_empty() {
        return;
    }
    let waiting = if server.state.in_grace(now) { server.state.nlm_hosts_to_notify() } else { Vec::new() };
    for host in server.notices.take_due(&waiting, now) {
        tell(server, host, now);
    }
}

/// Notifies one host, by a datagram from the address that it knows. Monitors identify the restarted server by this
/// address, whatever name they know it by.
fn tell(server: &Server, host: Box<[u8]>, now: Duration) {
    let Some((key, local)) = HostKey::parse(&host).and_then(|key| Some((key.clone(), own_address(server, &key)?)))
    else {
        server.notices.end(&host);
        return;
    };
    let remote = Remote { address: key.address(), local, transport: Transport::Udp };
    let name = key.own_address().to_string();
    let args = NotifyArgs { name: name.as_bytes(), state: server.settings.status_number() };
    tracing::info!(address = %key.address(), host = %key.name().escape_ascii(), "telling a host of the restart");
    let then = move |server: &Server, answer: CalloutResult<'_>, _| match answer {
        Ok(_) => server.notices.end(&host),
        Err(error) => tracing::debug!(address = %key.address(), %error, "a host was not told of the restart"),
    };
    server.call_remote(RemoteCallout::new::<Notify>(remote, &args), now, Box::new(then));
}

/// The server address that a host knows, with the port of a datagram socket there; `None` if it is no longer served.
fn own_address(server: &Server, host: &HostKey) -> Option<SocketAddr> {
    let ip = host.own_address();
    let services = server.registry.services();
    let is_socket =
        |service: &&RegisteredService| (service.program, service.transport) == (proto::nfs3::PROGRAM, Transport::Udp);
    let mut sockets = services.iter().filter(is_socket).map(|service| service.address);
    let same_family = |address: &SocketAddr| address.is_ipv4() == ip.is_ipv4() || address.ip().is_unspecified();
    sockets
        .find(|address| address.ip().to_canonical() == ip || address.ip().is_unspecified() && same_family(address))
        .map(|address| SocketAddr::new(ip, address.port()))
}
