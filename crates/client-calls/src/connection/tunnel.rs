//! Streams to a server that are not plain TCP sockets of the client.

use std::fmt;
use std::future::Future;
use std::io;
use std::net::SocketAddr;
use std::os::fd::{AsFd, OwnedFd};
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use rustix::net::sockopt;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::TcpStream;

type Opening = Pin<Box<dyn Future<Output = io::Result<Box<dyn Bytes>>> + Send>>;

/// How to reach a server where its address alone does not lead there: through a relay, over another kind of socket, or
/// in the memory of a test. Each replacement of a lost stream uses it again.
///
/// ```
/// use client::{Options, Tunnel};
/// use tokio::net::UnixStream;
///
/// let relay = Tunnel::new(|_address| UnixStream::connect("/run/nfs-relay"));
/// let options = Options { tunnel: Some(relay), ..Options::default() };
/// ```
#[derive(Clone)]
pub struct Tunnel(Way);

/// What a tunnel makes its streams of.
#[derive(Clone)]
enum Way {
    /// The address alone.
    Address(Arc<dyn Fn(SocketAddr) -> Opening + Send + Sync>),
    /// A connected socket of the client.
    Socket(Arc<dyn Fn(TcpStream) -> Opening + Send + Sync>),
}

impl Tunnel {
    /// A tunnel whose streams `open` makes. It gets the address that the client would connect to otherwise.
    pub fn new<F, S>(open: impl Fn(SocketAddr) -> F + Send + Sync + 'static) -> Tunnel
    where
        F: Future<Output = io::Result<S>> + Send + 'static,
        S: AsyncRead + AsyncWrite + Send + Unpin + 'static,
    {
        Tunnel(Way::Address(Arc::new(move |address| boxed(open(address)))))
    }

    /// A tunnel whose streams `upgrade` makes of connected sockets, as TLS does: it sends the probe (RFC 9289 §4.1),
    /// receives the answer, and returns what carries all further bytes. The client chooses the sockets' ports as it
    /// does without a tunnel.
    pub fn upgrade<F, S>(upgrade: impl Fn(TcpStream) -> F + Send + Sync + 'static) -> Tunnel
    where
        F: Future<Output = io::Result<S>> + Send + 'static,
        S: AsyncRead + AsyncWrite + Send + Unpin + 'static,
    {
        Tunnel(Way::Socket(Arc::new(move |socket| boxed(upgrade(socket)))))
    }

    /// Opens a stream to `address`; `connect` connects a socket if the tunnel needs one.
    pub(super) async fn open(
        &self,
        address: SocketAddr,
        connect: impl Future<Output = io::Result<TcpStream>>,
    ) -> io::Result<Stream> {
        match &self.0 {
            Way::Address(open) => open(address).await.map(Stream::Tunnel),
            Way::Socket(upgrade) => {
                let plain = connect.await?;
                let socket = plain.as_fd().try_clone_to_owned()?;
                let bytes = upgrade(plain).await?;
                Ok(Stream::Upgraded { bytes, socket })
            }
        }
    }
}

impl fmt::Debug for Tunnel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Tunnel")
    }
}

impl PartialEq for Tunnel {
    /// Whether both are clones of one tunnel.
    fn eq(&self, other: &Tunnel) -> bool {
        match (&self.0, &other.0) {
            (Way::Address(one), Way::Address(another)) => Arc::ptr_eq(one, another),
            (Way::Socket(one), Way::Socket(another)) => Arc::ptr_eq(one, another),
            _ => false,
        }
    }
}

impl Eq for Tunnel {}

fn boxed<F, S>(opening: F) -> Opening
where
    F: Future<Output = io::Result<S>> + Send + 'static,
    S: AsyncRead + AsyncWrite + Send + Unpin + 'static,
{
    Box::pin(async move { opening.await.map(|stream| Box::new(stream) as Box<dyn Bytes>) })
}

/// Bytes in both directions.
pub(super) trait Bytes: AsyncRead + AsyncWrite + Send + Unpin {}

impl<S: AsyncRead + AsyncWrite + Send + Unpin> Bytes for S {}

/// What carries the records of a connection.
pub(super) enum Stream {
    Tcp(TcpStream),
    Tunnel(Box<dyn Bytes>),
    /// A tunnel over `socket`.
    Upgraded {
        bytes: Box<dyn Bytes>,
        socket: OwnedFd,
    },
}

impl Stream {
    /// The local port, if there is one.
    pub(super) fn port(&self) -> Option<u16> {
        match self {
            Stream::Tcp(stream) => stream.local_addr().ok().map(|address| address.port()),
            Stream::Tunnel(_) => None,
            Stream::Upgraded { socket, .. } => {
                let local = rustix::net::getsockname(socket).ok().and_then(|local| SocketAddr::try_from(local).ok());
                local.map(|address| address.port())
            }
        }
    }

    /// Closes the stream with a reset. Otherwise its port would stay unavailable to the next one for minutes.
    pub(super) fn reset(self) {
        let socket = match &self {
            Stream::Tcp(stream) => stream.as_fd(),
            Stream::Upgraded { socket, .. } => socket.as_fd(),
            Stream::Tunnel(_) => return,
        };
        let _ = sockopt::set_socket_linger(socket, Some(Duration::ZERO));
    }
}

impl AsyncRead for Stream {
    fn poll_read(self: Pin<&mut Self>, cx: &mut Context<'_>, into: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        match self.get_mut() {
            Stream::Tcp(stream) => Pin::new(stream).poll_read(cx, into),
            Stream::Tunnel(stream) | Stream::Upgraded { bytes: stream, .. } => Pin::new(stream).poll_read(cx, into),
        }
    }
}

impl AsyncWrite for Stream {
    fn poll_write(self: Pin<&mut Self>, cx: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        match self.get_mut() {
            Stream::Tcp(stream) => Pin::new(stream).poll_write(cx, bytes),
            Stream::Tunnel(stream) | Stream::Upgraded { bytes: stream, .. } => Pin::new(stream).poll_write(cx, bytes),
        }
    }

    fn poll_write_vectored(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        slices: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        match self.get_mut() {
            Stream::Tcp(stream) => Pin::new(stream).poll_write_vectored(cx, slices),
            Stream::Tunnel(stream) | Stream::Upgraded { bytes: stream, .. } => {
                Pin::new(stream).poll_write_vectored(cx, slices)
            }
        }
    }

    fn poll_flush(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        match self.get_mut() {
            Stream::Tcp(stream) => Pin::new(stream).poll_flush(cx),
            Stream::Tunnel(stream) | Stream::Upgraded { bytes: stream, .. } => Pin::new(stream).poll_flush(cx),
        }
    }

    fn poll_shutdown(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        match self.get_mut() {
            Stream::Tcp(stream) => Pin::new(stream).poll_shutdown(cx),
            Stream::Tunnel(stream) | Stream::Upgraded { bytes: stream, .. } => Pin::new(stream).poll_shutdown(cx),
        }
    }
}

#[cfg(test)]
mod tests {
    use proto::nfs3::Null;
    use tokio::io::{AsyncReadExt, AsyncWriteExt};
    use tokio::net::TcpListener;

    use super::*;
    use crate::{Connection, Options};

    /// Inverts all bytes of a socket.
    struct Inverter(TcpStream);

    impl AsyncRead for Inverter {
        fn poll_read(mut self: Pin<&mut Self>, cx: &mut Context<'_>, into: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
            let before = into.filled().len();
            let polled = Pin::new(&mut self.0).poll_read(cx, into);
            into.filled_mut()[before..].iter_mut().for_each(|byte| *byte = !*byte);
            polled
        }
    }

    impl AsyncWrite for Inverter {
        fn poll_write(mut self: Pin<&mut Self>, cx: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
            let inverted: Vec<u8> = bytes.iter().map(|byte| !byte).collect();
            Pin::new(&mut self.0).poll_write(cx, &inverted)
        }

        fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
            Pin::new(&mut self.0).poll_flush(cx)
        }

        fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
            Pin::new(&mut self.0).poll_shutdown(cx)
        }
    }

    /// Answers a probe and then, inverted, one NULL call.
    async fn serve_one(listener: &TcpListener) -> io::Result<SocketAddr> {
        let (mut socket, from) = listener.accept().await?;
        let mut probe = [0; 5];
        socket.read_exact(&mut probe).await?;
        assert_eq!(&probe, b"probe");
        socket.write_all(b"ready").await?;
        let mut stream = Inverter(socket);
        let length = stream.read_u32().await? & 0x7fff_ffff;
        let mut call = vec![0; length as usize];
        stream.read_exact(&mut call).await?;
        // A mark, the xid, and an accepted reply (RFC 5531 §9) of six words.
        stream.write_all(&[&[0x80, 0, 0, 24], &call[..4], &[0, 0, 0, 1], &[0; 16]].concat()).await?;
        Ok(from)
    }

    #[tokio::test]
    async fn each_stream_is_upgraded_over_a_socket_of_its_own_from_the_same_port() {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let server = tokio::spawn(async move {
            let first = serve_one(&listener).await.unwrap();
            (first, serve_one(&listener).await.unwrap())
        });
        let tunnel = Tunnel::upgrade(|mut socket: TcpStream| async move {
            socket.write_all(b"probe").await?;
            let mut answer = [0; 5];
            socket.read_exact(&mut answer).await?;
            assert_eq!(&answer, b"ready");
            Ok(Inverter(socket))
        });
        let options = Options { tunnel: Some(tunnel), ..Options::default() };
        let connection = Connection::connect(address, "server", &options).await.unwrap();
        for _ in 0..2 {
            connection.call::<Null>(&()).await.unwrap();
        }
        let (first, second) = server.await.unwrap();
        assert_eq!(first.port(), second.port());
    }
}
