//! After a restart, notifies the hosts that held locks, so that they reclaim them (X/Open XNFS, NOTIFY).
//!
//! `notices.rs` reads the state manager's records to learn whom to notify. It repeats each NOTIFY until the host
//! answers, reclaims, or may no longer reclaim.

use std::collections::{BTreeMap, BTreeSet};
use std::net::SocketAddr;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use peer::Transport;
use proto::nsm::{Notify, NotifyArgs};

use crate::callout::CalloutResult;
use crate::nlm::HostKey;
use crate::remote::{Remote, RemoteCallout};
use crate::rpcbind::RegisteredService;
use crate::server::Server;

/// The interval of repeated notifications; it doubles each time, up to the longest.
const FIRST_INTERVAL: Duration = Duration::from_secs(5);
const LONGEST_INTERVAL: Duration = Duration::from_secs(60);
/// The most hosts to notify per tick.
const HOSTS_PER_TURN: usize = 256;

/// The hosts still to notify.
#[derive(Debug, Default)]
pub(crate) struct Notices(Mutex<BTreeMap<Box<[u8]>, Notice>>);

#[derive(Debug, Clone, Copy, Default)]
struct Notice {
    next: Duration,
    interval: Duration,
}

impl Notices {
    /// Sets the hosts that may reclaim.
    pub(crate) fn begin(&self, hosts: Vec<Box<[u8]>>) {
        *self.lock() = hosts.into_iter().map(|host| (host, Notice::default())).collect();
    }

    /// Notifies the hosts that are due.
    pub(crate) fn send(&self, server: &Server, now: Duration) {
        if self.lock().is_empty() {
            return;
        }
        let waiting = if server.state.in_grace(now) { server.state.nlm_hosts_to_notify() } else { Vec::new() };
        for host in self.take_due(&waiting, now) {
            tell(server, host, now);
        }
    }

    /// The due hosts, out of those in `waiting`; forgets all others.
    fn take_due(&self, waiting: &[Box<[u8]>], now: Duration) -> Vec<Box<[u8]>> {
        let mut notices = self.lock();
        let waiting: BTreeSet<&[u8]> = waiting.iter().map(|host| &**host).collect();
        notices.retain(|host, _| waiting.contains(&**host));
        let mut due = Vec::new();
        for (host, notice) in notices.iter_mut().filter(|(_, notice)| notice.next <= now).take(HOSTS_PER_TURN) {
            notice.interval = (2 * notice.interval).clamp(FIRST_INTERVAL, LONGEST_INTERVAL);
            notice.next = now + notice.interval;
            due.push(host.clone());
        }
        due
    }

    fn end(&self, host: &[u8]) {
        self.lock().remove(host);
    }

    fn lock(&self) -> MutexGuard<'_, BTreeMap<Box<[u8]>, Notice>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
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
