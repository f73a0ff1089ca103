//! Connections: those that others open to us, and those that we open to others.

use std::net::SocketAddr;
use std::os::fd::OwnedFd;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use peer::{Peer, Transport};
use rustix::io::Errno;
use rustix::net::{self, AddressFamily, SocketFlags, SocketType, ipproto, sockopt};

/// When the kernel first asks a silent peer whether it is there, how often again, and how many times.
const KEEPALIVE_IDLE: Duration = Duration::from_secs(60);
const KEEPALIVE_INTERVAL: Duration = Duration::from_secs(10);
const KEEPALIVE_COUNT: u32 = 6;

/// How many bits of a connection's number name its loop.
const LOOP_BITS: u32 = 16;

static NEXT_CONNECTION: AtomicU64 = AtomicU64::new(1);

/// A new connection's number, from which its loop can be told.
fn number(loop_index: usize) -> u64 {
    NEXT_CONNECTION.fetch_add(1, Ordering::Relaxed) << LOOP_BITS | loop_index as u64
}

/// The loop of the connection with this number.
pub(crate) fn loop_of(connection: u64) -> usize {
    (connection & ((1 << LOOP_BITS) - 1)) as usize
}

/// Sets the options of a connection's socket; says who is at both ends, if the peer is still there.
pub(crate) fn set_up(socket: &OwnedFd, address: SocketAddr, loop_index: usize) -> Option<Peer> {
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
    Some(Peer { address, local, transport: Transport::Tcp, connection: number(loop_index) })
}

/// Begins to connect to `address`. What is sent before the connection stands waits for it; if it never stands, the
/// socket says so to whoever reads it.
pub(crate) fn begin(address: SocketAddr) -> rustix::io::Result<OwnedFd> {
    let family = if address.is_ipv4() { AddressFamily::INET } else { AddressFamily::INET6 };
    let flags = SocketFlags::CLOEXEC | SocketFlags::NONBLOCK;
    let socket = net::socket_with(family, SocketType::STREAM, flags, Some(ipproto::TCP))?;
    match net::connect(&socket, &address) {
        Ok(()) | Err(Errno::INPROGRESS) => Ok(socket),
        Err(error) => Err(error),
    }
}
