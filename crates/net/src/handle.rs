//! What is left in hand of a server that runs.

use std::fmt;
use std::io;
use std::net::SocketAddr;
use std::sync::{Arc, PoisonError, mpsc};
use std::time::{Duration, Instant};

use peer::Transport;

use crate::bind::Bound;
use crate::connection::Accepted;
use crate::dial;
use crate::hub::{Admitted, Hub};
use crate::mailbox::{LoopMessage, OwnDatagram};
use crate::release::Seen;
use crate::sys::{self, LocalAddress};
use crate::{Counters, Delivery, NetError};

/// How long a busy loop may take to tell what became of what was sent.
const DELIVERY_TIMEOUT: Duration = Duration::from_millis(100);

/// How long [`ServerHandle::join`] waits for blocking threads after the loops have ended; one may hang in a dead file
/// system.
const BLOCKING_THREADS_END: Duration = Duration::from_secs(1);

/// A server that runs; copies are handles of the same server.
#[derive(Clone)]
pub struct ServerHandle {
    hub: Arc<Hub>,
}

impl ServerHandle {
    pub(crate) fn new(hub: Arc<Hub>) -> ServerHandle {
        ServerHandle { hub }
    }

    /// The addresses that are served, those of TCP first.
    pub fn bound(&self) -> &[Bound] {
        &self.hub.bound
    }

    /// What happened so far.
    pub fn counters(&self) -> Counters {
        self.hub.counters()
    }

    /// The number of open connections.
    pub fn open_connections(&self) -> usize {
        self.hub.open_connections()
    }

    /// Sends bytes over a connection of the server on the service's own account, behind what it has to send already.
    ///
    /// They are lost with the connection, of whose end the service hears by
    /// [`Service::disconnected`](crate::Service::disconnected).
    pub fn send(&self, connection: u64, bytes: Vec<u8>) {
        if let Some(shared) = self.hub.loops.get(dial::loop_of(connection)) {
            shared.mailbox.post(LoopMessage::Send { connection, bytes });
        }
    }

    /// What became of what was sent over a connection; a peer that sends something after `since` is there. The
    /// connection's loop says so: to be called from another thread that may wait.
    pub fn delivery(&self, connection: u64, since: Instant) -> Delivery {
        let (tell, told) = mpsc::sync_channel(1);
        let Some(shared) = self.hub.loops.get(dial::loop_of(connection)) else { return Delivery::Lost };
        shared.mailbox.post(LoopMessage::AskDelivery { connection, since, tell });
        told.recv_timeout(DELIVERY_TIMEOUT).unwrap_or(Delivery::Pending)
    }

    /// Opens a connection to `address`, which becomes one of the server's: what comes over it are messages to the
    /// service. It may be sent over at once; if it does not come about, the service hears that it is gone.
    ///
    /// # Errors
    /// When there is no route, no file descriptor, or there are too many connections already.
    pub fn connect(&self, address: SocketAddr) -> Result<u64, NetError> {
        let socket = dial::begin(address).map_err(|error| NetError::Connect { address, source: error.into() })?;
        // Whom the server calls is one of its clients.
        let admitted = self.hub.admit(address.ip(), true, || true);
        let Admitted { loop_index, account } = admitted.map_err(|_| NetError::TooManyConnections)?;
        let Some(peer) = dial::set_up(&socket, address, loop_index) else {
            self.hub.leave(loop_index);
            return Err(NetError::Connect { address, source: io::ErrorKind::NotConnected.into() });
        };
        self.hub.loops[loop_index].mailbox.post(LoopMessage::Accepted(Accepted { socket, peer, account }));
        Ok(peer.connection)
    }

    /// Sends a datagram on the service's own account, from the UDP socket that serves `local`, a
    /// [`Peer::local`](crate::Peer::local). What comes back is a message to the service.
    ///
    /// # Errors
    /// When no UDP socket serves that address.
    pub fn send_datagram(&self, local: SocketAddr, to: SocketAddr, bytes: Vec<u8>) -> Result<(), NetError> {
        let datagrams = self.hub.bound.iter().filter(|bound| bound.transport == Transport::Udp);
        let serves = |bound: &Bound| {
            let ip = bound.address.ip();
            bound.address.port() == local.port()
                && (ip == local.ip() || ip.is_unspecified() && ip.is_ipv4() == to.is_ipv4())
        };
        let (socket, bound) =
            datagrams.enumerate().find(|(_, bound)| serves(bound)).ok_or(NetError::NoDatagramSocket { local })?;
        let from = bound.address.ip().is_unspecified().then(|| LocalAddress::of(local.ip()));
        self.hub.loops[0].mailbox.post(LoopMessage::SendDatagram(OwnDatagram { socket, from, to, bytes }));
        Ok(())
    }

    /// Gives memory that is free back to the system when a load is over, clients hold much less than before, blocking
    /// threads ended, or much else became free. To be called every few seconds from a thread that may wait: it may take
    /// some milliseconds, which nobody else has to wait for.
    pub fn release_memory(&self) {
        let seen = Seen {
            has_freed: self.hub.budget.has_freed(),
            messages: self.counters().messages,
            ended_threads: self.hub.jobs.ended_threads(),
            free_bytes: sys::free_memory(),
        };
        if self.hub.releases.is_due(seen) {
            sys::release_memory();
        }
    }

    /// Asks the server to end, and does not wait for it.
    ///
    /// It accepts and reads nothing more, answers the messages that it has read, sends the answers, and closes each
    /// connection when its peer has acknowledged them. What is not finished after `grace` is dropped. A second call can
    /// only shorten the first one's grace.
    pub fn shutdown(&self, grace: Duration) {
        let deadline = Instant::now() + grace;
        for shared in &self.hub.loops {
            shared.mailbox.post(LoopMessage::Shutdown { deadline });
        }
    }

    /// Waits until the server has ended. Any number of threads may wait.
    ///
    /// A blocking thread that hangs in its call is left behind after a second, with a warning.
    pub fn join(&self) {
        // The lock is held meanwhile, so that a second caller waits for the same end.
        let mut threads = self.hub.loop_threads.lock().unwrap_or_else(PoisonError::into_inner);
        for thread in threads.drain(..) {
            if thread.join().is_err() {
                tracing::error!("an event loop ended with a panic");
            }
        }
        let left = self.hub.jobs.wait_until_ended(Instant::now() + BLOCKING_THREADS_END);
        if left > 0 {
            tracing::warn!(threads = left, "blocking threads hang in their calls and are left behind");
        }
    }

    /// Ends the first `started` loops after another could not be started.
    pub(crate) fn abandon_start(&self, started: usize) {
        for _ in started..self.hub.loops.len() {
            self.hub.loop_ended();
        }
        self.shutdown(Duration::ZERO);
        self.join();
    }
}

impl fmt::Debug for ServerHandle {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ServerHandle").field("bound", &self.hub.bound).field("counters", &self.counters()).finish()
    }
}
