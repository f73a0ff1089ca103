//! Why a server could not be set up.

use std::io;
use std::net::SocketAddr;

/// Why sockets could not be opened or loops could not be started.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum NetError {
    /// A socket could not be bound to an address.
    #[error("cannot listen on {address} over {transport}")]
    Bind {
        /// The address that was asked for.
        address: SocketAddr,
        /// `TCP`, `UDP` or both.
        transport: &'static str,
        /// What the kernel said.
        source: io::Error,
    },
    /// A file descriptor that was handed over is no listening TCP socket and no UDP socket.
    #[error("inherited file descriptor {descriptor} is neither a listening TCP socket nor a UDP socket")]
    NotASocket {
        /// The file descriptor's number.
        descriptor: i32,
        /// What the kernel said when it was asked about it, if it was that.
        source: Option<io::Error>,
    },
    /// The environment's account of inherited sockets makes no sense.
    #[error("{variable}={value:?} does not describe inherited sockets")]
    Activation {
        /// The variable's name.
        variable: &'static str,
        /// Its value.
        value: String,
    },
    /// The server has no socket to serve.
    #[error("there is no socket to serve: listen on an address first")]
    NoSockets,
    /// A connection to somebody could not even be begun.
    #[error("cannot connect to {address}")]
    Connect {
        /// Whom to.
        address: SocketAddr,
        /// What the kernel said.
        source: io::Error,
    },
    /// A datagram cannot be sent, since no UDP socket has the address that it is to come from.
    #[error("no UDP socket can send from {local}")]
    NoDatagramSocket {
        /// The address that was asked for.
        local: SocketAddr,
    },
    /// As many connections are open as may be.
    #[error("there are too many connections")]
    TooManyConnections,
    /// A loop's epoll, eventfd or thread could not be made.
    #[error("cannot start an event loop")]
    Start(#[source] io::Error),
}
