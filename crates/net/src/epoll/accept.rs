//! Accepting connections and finding a loop for each.

use std::net::SocketAddr;
use std::os::fd::OwnedFd;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use rustix::io::Errno;
use rustix::net::{self, SocketAddrAny, SocketFlags, sockopt};

use super::Loop;
use super::poller::Token;
use crate::bind::Listener;
use crate::connection::Interest;
use crate::mailbox::{Accepted, Letter};
use crate::{Peer, Service, Transport};

/// How many connections one turn accepts.
const ACCEPT_BATCH: usize = 64;

/// How long no connection is accepted after one could not be: the lack will not be over at once, and the listening
/// socket stays readable meanwhile.
const ACCEPT_PAUSE: Duration = Duration::from_millis(200);

/// When the kernel first asks a silent peer whether it is there, how often again, and how many times.
const KEEPALIVE_IDLE: Duration = Duration::from_secs(60);
const KEEPALIVE_INTERVAL: Duration = Duration::from_secs(10);
const KEEPALIVE_COUNT: u32 = 6;

static NEXT_CONNECTION: AtomicU64 = AtomicU64::new(1);

/// A loop's view of the listening sockets.
pub(super) struct Acceptor {
    listeners: Option<Arc<[Listener]>>,
    paused_until: Option<Instant>,
}

impl Acceptor {
    /// Takes listening sockets that the loop's poller watches already.
    pub(super) fn new(listeners: Arc<[Listener]>) -> Acceptor {
        Acceptor { listeners: Some(listeners), paused_until: None }
    }

    /// When accepting goes on, if it pauses.
    pub(super) fn paused_until(&self) -> Option<Instant> {
        self.paused_until
    }
}

impl<S: Service + ?Sized> Loop<S> {
    /// Accepts the connections that wait at one listening socket.
    pub(super) fn accept(&mut self, listener: usize) {
        let Some(listeners) = self.acceptor.listeners.clone() else { return };
        for _ in 0..ACCEPT_BATCH {
            let flags = SocketFlags::CLOEXEC | SocketFlags::NONBLOCK;
            match net::acceptfrom_with(&listeners[listener].socket, flags) {
                Ok((socket, address)) => self.place(socket, address),
                Err(Errno::AGAIN) => return,
                // The peer gave up, or the network failed it, before we came to it.
                Err(Errno::INTR | Errno::CONNABORTED | Errno::PROTO | Errno::NETDOWN | Errno::HOSTUNREACH) => {}
                Err(error) => return self.pause_accepting(error),
            }
        }
    }

    fn place(&mut self, socket: OwnedFd, address: Option<SocketAddrAny>) {
        let hub = &self.bench.engine.hub;
        let Some(index) = hub.admit() else {
            self.bench.desk().counters.refused.add(1);
            tracing::debug!(?address, "connection refused: too many are open");
            return;
        };
        let Some(peer) = set_up(&socket, address) else {
            // It was reset already.
            return hub.leave(index);
        };
        let accepted = Accepted { socket, peer };
        if index == self.bench.loop_index {
            self.adopt(accepted);
        } else {
            hub.loops[index].mailbox.post(Letter::Accepted(accepted));
        }
    }

    fn pause_accepting(&mut self, error: Errno) {
        self.bench.desk().counters.accept_errors.add(1);
        tracing::warn!(%error, "cannot accept connections for now");
        self.acceptor.paused_until = Some(Instant::now() + ACCEPT_PAUSE);
        self.watch_listeners(false);
    }

    /// Goes on accepting when a pause is over.
    pub(super) fn resume_accepting(&mut self, now: Instant) {
        if self.acceptor.paused_until.is_some_and(|until| until <= now) {
            self.acceptor.paused_until = None;
            self.watch_listeners(true);
        }
    }

    /// Accepts no more and lets the listening sockets go; the last loop to do so closes them.
    pub(super) fn stop_accepting(&mut self) {
        if self.acceptor.paused_until.take().is_none() {
            self.watch_listeners(false);
        }
        self.acceptor.listeners = None;
    }

    fn watch_listeners(&mut self, on: bool) {
        let reading = Interest { readable: true, writable: false };
        for (number, listener) in self.acceptor.listeners.iter().flat_map(|listeners| listeners.iter().enumerate()) {
            let result = if on {
                self.poller.add_shared(&listener.socket, Token::Listener(number), reading)
            } else {
                self.poller.remove(&listener.socket)
            };
            if let Err(error) = result {
                tracing::error!(local = %listener.local, %error, "cannot change the watch of a listening socket");
            }
        }
    }
}

/// Sets the options of an accepted socket; says who is at both ends, if the peer is still there.
fn set_up(socket: &OwnedFd, address: Option<SocketAddrAny>) -> Option<Peer> {
    let address = SocketAddr::try_from(address?).ok()?;
    let local = SocketAddr::try_from(net::getsockname(socket).ok()?).ok()?;
    let options = || -> rustix::io::Result<()> {
        sockopt::set_tcp_nodelay(socket, true)?;
        sockopt::set_socket_keepalive(socket, true)?;
        sockopt::set_tcp_keepidle(socket, KEEPALIVE_IDLE)?;
        sockopt::set_tcp_keepintvl(socket, KEEPALIVE_INTERVAL)?;
        sockopt::set_tcp_keepcnt(socket, KEEPALIVE_COUNT)
    };
    if let Err(error) = options() {
        tracing::debug!(peer = %address, %error, "cannot set a connection's options");
    }
    let connection = NEXT_CONNECTION.fetch_add(1, Ordering::Relaxed);
    Some(Peer { address, local, transport: Transport::Tcp, connection })
}
