//! Opening the sockets that a server serves.

use std::io;
use std::net::SocketAddr;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};

use peer::Transport;
use rustix::net::{self, AddressFamily, SocketFlags, SocketType, ipproto, sockopt};

use crate::{NetError, sys};

/// How many connections the kernel keeps for us to accept; it lowers the number to its own limit.
const BACKLOG: i32 = 4096;

/// The memory that the kernel is asked for a UDP socket's datagrams, each way.
const DATAGRAM_SOCKET_BYTES: usize = 4 << 20;

/// How many free TCP ports are tried for one that is free for UDP as well.
const PORT_ATTEMPTS: usize = 64;

/// A listening TCP socket.
pub(crate) struct Listener {
    pub(crate) socket: OwnedFd,
    pub(crate) local: SocketAddr,
}

/// A UDP socket.
pub(crate) struct DatagramSocket {
    pub(crate) socket: OwnedFd,
    pub(crate) local: SocketAddr,
}

/// An address that a server serves.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Bound {
    /// The transport.
    pub transport: Transport,
    /// The address, with the port that the kernel chose if port 0 was asked for.
    pub address: SocketAddr,
}

/// Opens a TCP and a UDP socket on one port, which the kernel chooses when `address` has port 0.
pub(crate) fn bind_both(address: SocketAddr) -> Result<(Listener, DatagramSocket), NetError> {
    for _ in 1..PORT_ATTEMPTS {
        let listener = bind_tcp(address)?;
        match bind_udp(listener.local) {
            Err(NetError::Bind { source, .. }) if address.port() == 0 && source.kind() == io::ErrorKind::AddrInUse => {}
            datagrams => return Ok((listener, datagrams?)),
        }
    }
    Err(NetError::Bind { address, transport: "TCP and UDP", source: io::ErrorKind::AddrInUse.into() })
}

/// Opens a listening TCP socket.
pub(crate) fn bind_tcp(address: SocketAddr) -> Result<Listener, NetError> {
    let open = || -> io::Result<Listener> {
        let socket = open(address, SocketType::STREAM)?;
        sockopt::set_socket_reuseaddr(&socket, true)?;
        net::bind(&socket, &address)?;
        net::listen(&socket, BACKLOG)?;
        let local = local_address(socket.as_fd())?;
        Ok(Listener { socket, local })
    };
    open().map_err(|source| NetError::Bind { address, transport: "TCP", source })
}

/// Opens a UDP socket. Unlike TCP's, its port is not to be shared: SO_REUSEADDR would let two servers have it.
pub(crate) fn bind_udp(address: SocketAddr) -> Result<DatagramSocket, NetError> {
    let open = || -> io::Result<DatagramSocket> {
        let socket = open(address, SocketType::DGRAM)?;
        net::bind(&socket, &address)?;
        prepare_datagrams(socket)
    };
    open().map_err(|source| NetError::Bind { address, transport: "UDP", source })
}

/// Makes a server's socket of one that was handed over.
pub(crate) fn inherit(socket: OwnedFd) -> Result<Inherited, NetError> {
    let descriptor = socket.as_raw_fd();
    match classify(socket) {
        Ok(Some(inherited)) => Ok(inherited),
        Ok(None) => Err(NetError::NotASocket { descriptor, source: None }),
        Err(source) => Err(NetError::NotASocket { descriptor, source: Some(source) }),
    }
}

/// A socket that was handed over.
pub(crate) enum Inherited {
    Listener(Listener),
    Datagrams(DatagramSocket),
}

fn classify(socket: OwnedFd) -> io::Result<Option<Inherited>> {
    let kind = sockopt::socket_type(&socket)?;
    let family = sockopt::socket_domain(&socket)?;
    if family != AddressFamily::INET && family != AddressFamily::INET6 {
        return Ok(None);
    }
    rustix::io::ioctl_fionbio(&socket, true)?;
    if kind == SocketType::DGRAM {
        return prepare_datagrams(socket).map(|socket| Some(Inherited::Datagrams(socket)));
    }
    if kind != SocketType::STREAM || !sockopt::socket_acceptconn(&socket)? {
        return Ok(None);
    }
    let local = local_address(socket.as_fd())?;
    Ok(Some(Inherited::Listener(Listener { socket, local })))
}

fn open(address: SocketAddr, kind: SocketType) -> io::Result<OwnedFd> {
    let (family, protocol) = match (address, kind) {
        (SocketAddr::V4(_), SocketType::STREAM) => (AddressFamily::INET, ipproto::TCP),
        (SocketAddr::V4(_), _) => (AddressFamily::INET, ipproto::UDP),
        (SocketAddr::V6(_), SocketType::STREAM) => (AddressFamily::INET6, ipproto::TCP),
        (SocketAddr::V6(_), _) => (AddressFamily::INET6, ipproto::UDP),
    };
    let flags = SocketFlags::CLOEXEC | SocketFlags::NONBLOCK;
    let socket = net::socket_with(family, kind, flags, Some(protocol))?;
    if address.is_ipv6() {
        // So that the same port can be bound for IPv4 beside it.
        sockopt::set_ipv6_v6only(&socket, true)?;
    }
    Ok(socket)
}

fn prepare_datagrams(socket: OwnedFd) -> io::Result<DatagramSocket> {
    // Only privileged processes may go beyond the system's limit; others get as much as it allows.
    if sockopt::set_socket_recv_buffer_size_force(&socket, DATAGRAM_SOCKET_BYTES).is_err() {
        sockopt::set_socket_recv_buffer_size(&socket, DATAGRAM_SOCKET_BYTES)?;
    }
    if sockopt::set_socket_send_buffer_size_force(&socket, DATAGRAM_SOCKET_BYTES).is_err() {
        sockopt::set_socket_send_buffer_size(&socket, DATAGRAM_SOCKET_BYTES)?;
    }
    let local = local_address(socket.as_fd())?;
    if local.ip().is_unspecified() {
        sys::want_destinations(socket.as_fd(), local.is_ipv6())?;
    }
    Ok(DatagramSocket { socket, local })
}

fn local_address(socket: BorrowedFd<'_>) -> io::Result<SocketAddr> {
    let name = net::getsockname(socket)?;
    Ok(SocketAddr::try_from(name)?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn port_0_gives_tcp_and_udp_the_same_port() {
        let (listener, datagrams) = bind_both("127.0.0.1:0".parse().unwrap()).unwrap();
        assert_eq!(listener.local, datagrams.local);
        assert_ne!(listener.local.port(), 0);
    }

    #[test]
    fn both_families_share_a_port() {
        let (ipv4, _) = bind_both("0.0.0.0:0".parse().unwrap()).unwrap();
        let ipv6 = SocketAddr::new("::".parse().unwrap(), ipv4.local.port());
        match bind_both(ipv6) {
            Ok((listener, _)) => assert_eq!(listener.local, ipv6),
            Err(NetError::Bind { source, .. }) if source.raw_os_error() == Some(libc::EAFNOSUPPORT) => {
                eprintln!("SKIPPED both_families_share_a_port: this kernel has no IPv6");
            }
            Err(error) => panic!("{error}"),
        }
    }

    #[test]
    fn taken_udp_port_is_refused_with_its_address() {
        let taken = bind_udp("127.0.0.1:0".parse().unwrap()).unwrap();
        let error = bind_udp(taken.local).err().unwrap().to_string();
        assert!(error.contains(&taken.local.to_string()), "{error}");
    }

    #[test]
    fn inherited_sockets_are_told_apart() {
        let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        let datagrams = std::net::UdpSocket::bind("127.0.0.1:0").unwrap();
        let connected = std::net::TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        assert!(matches!(inherit(listener.into()), Ok(Inherited::Listener(_))));
        assert!(matches!(inherit(datagrams.into()), Ok(Inherited::Datagrams(_))));
        assert!(matches!(inherit(connected.into()), Err(NetError::NotASocket { source: None, .. })));
        assert!(matches!(
            inherit(std::fs::File::open("/").unwrap().into()),
            Err(NetError::NotASocket { source: Some(_), .. })
        ));
    }
}
