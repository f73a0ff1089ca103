//! Accepting connections and finding a loop for each.

use std::net::{IpAddr, SocketAddr};
use std::os::fd::OwnedFd;
use std::sync::Arc;
use std::time::{Duration, Instant};

use rustix::io::Errno;
use rustix::net::{self, SocketAddrAny, SocketFlags};

use super::Loop;
use super::poller::Token;
use crate::Service;
use crate::bind::Listener;
use crate::complaints::{Complaint, NOBODY};
use crate::connection::{Accepted, Interest};
use crate::dial;
use crate::hub::{Admitted, TooMany};
use crate::mailbox::LoopMessage;

/// How many connections one turn accepts.
const ACCEPT_BATCH: usize = 64;

/// How long no connection is accepted after one could not be: the lack will not be over at once, and the listening
/// socket stays readable meanwhile.
const ACCEPT_PAUSE: Duration = Duration::from_millis(200);

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
        // Without an address it was reset already.
        let Some(address) = address.and_then(|address| SocketAddr::try_from(address).ok()) else { return };
        let Admitted { loop_index, account } = match self.admit(address.ip()) {
            Ok(admitted) => admitted,
            Err(why) => return self.refuse(address.ip(), why),
        };
        let hub = &self.context.engine.hub;
        let Some(peer) = dial::set_up(&socket, address, loop_index) else { return hub.leave(loop_index) };
        let accepted = Accepted { socket, peer, account };
        if loop_index == self.context.loop_index {
            self.adopt(accepted);
        } else {
            hub.loops[loop_index].mailbox.post(LoopMessage::Accepted(accepted));
        }
    }

    /// Finds a place for a connection; when too many are open, those of clients without exports make room, or else
    /// those of clients with very many.
    fn admit(&mut self, client: IpAddr) -> Result<Admitted, TooMany> {
        let engine = Arc::clone(&self.context.engine);
        let admit = || engine.hub.admit(client, false, || engine.service.trusts(client));
        let admitted = admit();
        if !matches!(admitted, Err(TooMany::InAll)) {
            return admitted;
        }
        self.make_room_everywhere(engine.hub.budget.many_connections(client));
        admit()
    }

    fn refuse(&mut self, client: IpAddr, why: TooMany) {
        self.context.shared().counters.refused.add(1);
        let hub = &self.context.engine.hub;
        if hub.complaints.is_new(client, Complaint::Refused, self.context.now) {
            let (open, of_one_client) = (hub.limits.max_connections, hub.limits.max_connections_per_client());
            match why {
                TooMany::InAll => tracing::warn!(%client, open, "connection refused: as many are open as may be"),
                TooMany::OfClient => {
                    tracing::warn!(%client, of_one_client, "connection refused: the client has as many as one client may have");
                }
            }
        }
    }

    fn pause_accepting(&mut self, error: Errno) {
        self.context.shared().counters.accept_errors.add(1);
        self.make_room_everywhere(None);
        let hub = &self.context.engine.hub;
        if hub.complaints.is_new(NOBODY, Complaint::NotAccepted, self.context.now) {
            tracing::warn!(
                %error,
                "cannot accept connections for now; if file descriptors are lacking, raise their limit (ulimit -n, or \
                 LimitNOFILE= of the systemd service)"
            );
        }
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
