//! Who sends a message, and over which transport: what sockets report, and servers and clients decide by.

#![forbid(unsafe_code)]

use std::net::SocketAddr;

/// The transport of a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Transport {
    /// TCP: a stream of messages between record marks.
    Tcp,
    /// UDP: a datagram is a message.
    Udp,
}

impl Transport {
    /// The other transport.
    #[must_use]
    pub fn other(self) -> Transport {
        match self {
            Transport::Tcp => Transport::Udp,
            Transport::Udp => Transport::Tcp,
        }
    }
}

/// The sender of a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Peer {
    /// The sender's address.
    pub address: SocketAddr,
    /// The address of ours that it was sent to.
    pub local: SocketAddr,
    /// The transport it arrived by.
    pub transport: Transport,
    /// The connection it arrived over: a number that is never reused by one process; 0 for datagrams.
    pub connection: u64,
}
