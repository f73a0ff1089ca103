//! Sockets to a server, from a privileged port if requested and allowed.

use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::time::Duration;

use tokio::net::{TcpSocket, TcpStream, UdpSocket};

use super::ambient::random;
use super::tunnel::{Stream, Tunnel};

/// The ports that servers consider privileged; those below 600 belong to well-known services.
const PRIVILEGED_PORTS: std::ops::RangeInclusive<u16> = 600..=1023;
/// How many privileged ports are tried before any port will do.
const MAX_PORT_TRIES: u16 = 64;
/// The receive buffer of a datagram socket, in bytes: room for a window of large replies.
const DATAGRAM_BUFFER_BYTES: usize = 4 << 20;

/// Where to connect to, and from which port.
#[derive(Debug, Clone)]
pub(super) struct Dial {
    pub(super) address: SocketAddr,
    pub(super) use_privileged_port: bool,
    pub(super) timeout: Duration,
    pub(super) tunnel: Option<Tunnel>,
}

impl Dial {
    /// Connects a stream. `last_port` is the port of the connection before, by which the server's replay cache knows
    /// the client.
    pub(super) async fn stream(&self, last_port: Option<u16>) -> io::Result<Stream> {
        let attempt = async {
            if let Some(tunnel) = &self.tunnel {
                return tunnel.open(self.address, self.tcp(last_port)).await;
            }
            self.tcp(last_port).await.map(Stream::Tcp)
        };
        tokio::time::timeout(self.timeout, attempt).await.map_err(|_| io::ErrorKind::TimedOut)?
    }

    async fn tcp(&self, last_port: Option<u16>) -> io::Result<TcpStream> {
        let stream = match last_port {
            Some(port) => match self.stream_from(port).await {
                Err(error) if is_port_trouble(&error) => self.stream_from_any().await?,
                other => other?,
            },
            None => self.stream_from_any().await?,
        };
        stream.set_nodelay(true)?;
        Ok(stream)
    }

    async fn stream_from_any(&self) -> io::Result<TcpStream> {
        for port in self.ports() {
            match self.stream_from(port).await {
                Err(error) if is_port_trouble(&error) => {}
                other => return other,
            }
        }
        self.stream_from(0).await
    }

    async fn stream_from(&self, port: u16) -> io::Result<TcpStream> {
        let socket = match self.address {
            SocketAddr::V4(_) => TcpSocket::new_v4()?,
            SocketAddr::V6(_) => TcpSocket::new_v6()?,
        };
        if port != 0 {
            socket.set_reuseaddr(true)?;
            socket.bind(self.local(port))?;
        }
        socket.connect(self.address).await
    }

    /// Makes a datagram socket that receives from this server only.
    pub(super) async fn datagram(&self) -> io::Result<UdpSocket> {
        let socket = self.bound_datagram()?;
        // A smaller buffer than requested loses datagrams, which are then retransmitted.
        let _ = rustix::net::sockopt::set_socket_recv_buffer_size(&socket, DATAGRAM_BUFFER_BYTES);
        socket.set_nonblocking(true)?;
        socket.connect(self.address)?;
        UdpSocket::from_std(socket)
    }

    fn bound_datagram(&self) -> io::Result<std::net::UdpSocket> {
        for port in self.ports() {
            match std::net::UdpSocket::bind(self.local(port)) {
                Err(error) if is_port_trouble(&error) => {}
                other => return other,
            }
        }
        std::net::UdpSocket::bind(self.local(0))
    }

    /// The privileged ports to try, if any: upwards from a random one, so that concurrent connections do not collide.
    fn ports(&self) -> impl Iterator<Item = u16> + use<> {
        let wanted = self.use_privileged_port && rustix::process::geteuid().is_root();
        let span = PRIVILEGED_PORTS.end() - PRIVILEGED_PORTS.start() + 1;
        let first = (random() % u32::from(span)) as u16;
        let tries = if wanted { MAX_PORT_TRIES } else { 0 };
        (0..tries).map(move |step| PRIVILEGED_PORTS.start() + (first + step) % span)
    }

    fn local(&self, port: u16) -> SocketAddr {
        let any = match self.address {
            SocketAddr::V4(_) => IpAddr::V4(Ipv4Addr::UNSPECIFIED),
            SocketAddr::V6(_) => IpAddr::V6(Ipv6Addr::UNSPECIFIED),
        };
        SocketAddr::new(any, port)
    }
}

/// Whether another local port may work.
fn is_port_trouble(error: &io::Error) -> bool {
    use io::ErrorKind::{AddrInUse, AddrNotAvailable, PermissionDenied};
    matches!(error.kind(), AddrInUse | AddrNotAvailable | PermissionDenied)
}
