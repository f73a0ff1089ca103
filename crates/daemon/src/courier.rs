//! Sends the server's own requests, such as callbacks.
//!
//! After every message and every tick it fetches the pending requests ([`Server::next_transmit`]) and gives them to a
//! loop: over a connection of the client's, over one of its own, or as a datagram. Replies arrive like any other
//! message.

use std::collections::HashMap;
use std::net::SocketAddr;
use std::sync::{Mutex, OnceLock, PoisonError};
use std::time::Duration;

use net::{NetError, Peer};
use rpc::record;
use server::{Destination, Server, Transmit};
use state::Origin;

/// The maximum number of connections to one address. Clients choose the port of callbacks, and could otherwise make the
/// server open very many. Requests beyond this limit fail.
const MAX_PER_ADDRESS: usize = 64;

/// Sends the server's own requests over existing connections or new ones.
#[derive(Default)]
pub(crate) struct Courier {
    /// Unset until the event loops run.
    net: OnceLock<net::ServerHandle>,
    /// The connections opened by the server, per address.
    opened: Mutex<HashMap<SocketAddr, u64>>,
}

impl Courier {
    /// Sets the event loops, once they run.
    pub(crate) fn connect(&self, net: net::ServerHandle) {
        // This is called once; a second handle would refer to the same loops.
        let _ = self.net.set(net);
    }

    /// Sends all requests that are due.
    pub(crate) fn send_all(&self, server: &Server, now: Duration) {
        let Some(net) = self.net.get() else { return };
        while let Some(Transmit { destination, message }) = server.next_transmit(now) {
            if let Err(error) = self.send(net, &destination, message) {
                tracing::debug!(?destination, %error, "cannot send a request of the server's own");
                server.unreachable(&destination, now);
            }
        }
    }

    fn send(&self, net: &net::ServerHandle, destination: &Destination, message: Vec<u8>) -> Result<(), NetError> {
        match *destination {
            Destination::Connection(connection) => net.send(connection, record(&message)),
            Destination::Tcp(address) => net.send(self.connection_to(net, address)?, record(&message)),
            Destination::Udp { local, to } => net.send_datagram(local, to, message)?,
        }
        Ok(())
    }

    fn connection_to(&self, net: &net::ServerHandle, address: SocketAddr) -> Result<u64, NetError> {
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

    /// A connection was closed. Requests that were sent over a connection opened here stay unanswered.
    pub(crate) fn disconnected(&self, server: &Server, peer: &Peer, now: Duration) {
        let mut opened = self.opened.lock().unwrap_or_else(PoisonError::into_inner);
        if opened.get(&peer.address) == Some(&peer.connection) {
            opened.remove(&peer.address);
            drop(opened);
            server.unreachable(&Destination::Tcp(peer.address), now);
        }
    }
}

/// Puts a record mark in front of a message (RFC 5531 §11).
fn record(message: &[u8]) -> Vec<u8> {
    [&record::last_mark(message.len()).to_be_bytes(), message].concat()
}
