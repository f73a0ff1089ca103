//! Sockets with buffers set before the handshake, and the kernel's information about them.

use std::io;
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::time::Duration;

use rustix::net::sockopt::{
    Timeout, set_socket_recv_buffer_size, set_socket_send_buffer_size, set_socket_timeout, set_tcp_nodelay,
};
use rustix::net::{AddressFamily, SocketFlags, SocketType, connect, ipproto, socket_with};

/// Sizes of socket buffers; the kernel's defaults without them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct Buffers {
    pub send_bytes: Option<usize>,
    pub receive_bytes: Option<usize>,
}

/// Connects within `most`.
pub(super) fn connect_to(address: SocketAddr, buffers: Buffers, most: Duration) -> io::Result<TcpStream> {
    let family = if address.is_ipv4() { AddressFamily::INET } else { AddressFamily::INET6 };
    let socket = socket_with(family, SocketType::STREAM, SocketFlags::CLOEXEC, Some(ipproto::TCP))?;
    if let Some(bytes) = buffers.receive_bytes {
        set_socket_recv_buffer_size(&socket, bytes)?;
    }
    if let Some(bytes) = buffers.send_bytes {
        set_socket_send_buffer_size(&socket, bytes)?;
    }
    // On Linux, the send timeout also applies to connecting.
    set_socket_timeout(&socket, Timeout::Send, Some(most))?;
    match connect(&socket, &address) {
        Ok(()) => Ok(TcpStream::from(socket)),
        Err(rustix::io::Errno::INPROGRESS) => Err(io::Error::new(io::ErrorKind::TimedOut, "no answer")),
        Err(errno) => Err(errno.into()),
    }
}

/// Listens at a port; connections to it inherit these buffers.
pub(super) fn listen(address: SocketAddr, buffers: Buffers) -> io::Result<TcpListener> {
    let listener = TcpListener::bind(address)?;
    if let Some(bytes) = buffers.receive_bytes {
        set_socket_recv_buffer_size(&listener, bytes)?;
    }
    if let Some(bytes) = buffers.send_bytes {
        set_socket_send_buffer_size(&listener, bytes)?;
    }
    Ok(listener)
}

/// Configures a socket of the test: calls time out regularly, so that the test can be stopped, and requests are sent at
/// once.
pub(super) fn prepare(stream: &TcpStream, look: Duration, sends_requests: bool) -> io::Result<()> {
    stream.set_read_timeout(Some(look))?;
    stream.set_write_timeout(Some(look))?;
    if sends_requests {
        set_tcp_nodelay(stream, true)?;
    }
    Ok(())
}
