//! The server's own calls on the sockets.
//!
//! After every message and every tick the courier fetches what is to be sent ([`Server::next_transmit`]) and gives it
//! to a loop: over a connection of the client's, over one of its own, or as a datagram. The reply comes back as a
//! message like any other.

use std::collections::HashMap;
use std::net::SocketAddr;
use std::sync::{Mutex, OnceLock, PoisonError};
use std::time::Duration;

use net::NetError;
use rpc::record;
use server::{Destination, Server, Transmit};
use state::Origin;

/// How many connections are open to one address. A client names the port that it is called at, so that it could have
/// the server open very many; calls over those beyond fail.
const MAX_PER_ADDRESS: usize = 64;

/// Sends what the server says on its own account, over the connections that there are or new ones.
#[derive(Default)]
pub(crate) struct Courier {
    /// Absent until the loops run.
    net: OnceLock<net::Handle>,
    /// The connections that were opened to others.
    opened: Mutex<HashMap<SocketAddr, u64>>,
}

impl Courier {
    /// Gets the loops, once they run.
    pub(crate) fn connect(&self, net: net::Handle) {
        // It is called once; a second handle would be one of the same loops.
        let _ = self.net.set(net);
    }

    /// Sends all that the server has to say now.
    pub(crate) fn send_all(&self, server: &Server, now: Duration) {
        let Some(net) = self.net.get() else { return };
        while let Some(Transmit { destination, message }) = server.next_transmit(now) {
            if let Err(error) = self.send(net, &destination, message) {
                tracing::debug!(?destination, %error, "cannot send a request of the server's own");
                server.unreachable(&destination, now);
            }
        }
    }

    fn send(&self, net: &net::Handle, destination: &Destination, message: Vec<u8>) -> Result<(), NetError> {
        match *destination {
            Destination::Connection(connection) => net.send(connection, record(&message)),
            Destination::Tcp(address) => net.send(self.connection_to(net, address)?, record(&message)),
            Destination::Udp { local, to } => net.send_datagram(local, to, message)?,
        }
        Ok(())
    }

    fn connection_to(&self, net: &net::Handle, address: SocketAddr) -> Result<u64, NetError> {
        let mut opened = self.opened.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(connection) = opened.get(&address) {
            return Ok(*connection);
        }
        let is_there = |other: &&SocketAddr| Origin::of(other.ip()) == Origin::of(address.ip());
        if opened.keys().filter(is_there).count() >= MAX_PER_ADDRESS {
            return Err(NetError::TooManyConnections);
        }
        let connection = net.connect(address)?;
        opened.insert(address, connection);
        Ok(connection)
    }

    /// Hears that a connection is gone: if it was opened here, what was sent over it is not answered.
    pub(crate) fn disconnected(&self, server: &Server, peer: &net::Peer, now: Duration) {
        let mut opened = self.opened.lock().unwrap_or_else(PoisonError::into_inner);
        if opened.get(&peer.address) == Some(&peer.connection) {
            opened.remove(&peer.address);
            drop(opened);
            server.unreachable(&Destination::Tcp(peer.address), now);
        }
    }
}

/// A message behind its record mark (RFC 5531 §11).
fn record(message: &[u8]) -> Vec<u8> {
    [&record::last_mark(message.len()).to_be_bytes(), message].concat()
}
