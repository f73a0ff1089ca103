//! Streams to a server that are not TCP sockets of the client.

use std::fmt;
use std::future::Future;
use std::io;
use std::net::SocketAddr;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

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
pub struct Tunnel(Arc<dyn Fn(SocketAddr) -> Opening + Send + Sync>);

impl Tunnel {
    /// A tunnel whose streams `open` makes. It gets the address that the client would connect to otherwise.
    pub fn new<F, S>(open: impl Fn(SocketAddr) -> F + Send + Sync + 'static) -> Tunnel
    where
        F: Future<Output = io::Result<S>> + Send + 'static,
        S: AsyncRead + AsyncWrite + Send + Unpin + 'static,
    {
        Tunnel(Arc::new(move |address| {
            let opening = open(address);
            Box::pin(async move { opening.await.map(|stream| Box::new(stream) as Box<dyn Bytes>) })
        }))
    }

    pub(super) async fn open(&self, address: SocketAddr) -> io::Result<Stream> {
        (self.0)(address).await.map(Stream::Tunnel)
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
        Arc::ptr_eq(&self.0, &other.0)
    }
}

impl Eq for Tunnel {}

/// Bytes in both directions.
pub(super) trait Bytes: AsyncRead + AsyncWrite + Send + Unpin {}

impl<S: AsyncRead + AsyncWrite + Send + Unpin> Bytes for S {}

/// What carries the records of a connection.
pub(super) enum Stream {
    Tcp(TcpStream),
    Tunnel(Box<dyn Bytes>),
}

impl Stream {
    /// The local port, if there is one.
    pub(super) fn port(&self) -> Option<u16> {
        match self {
            Stream::Tcp(stream) => stream.local_addr().ok().map(|address| address.port()),
            Stream::Tunnel(_) => None,
        }
    }

    /// Closes the stream with a reset. Otherwise its port would stay unavailable to the next one for minutes.
    pub(super) fn reset(self) {
        if let Stream::Tcp(stream) = &self {
            let _ = stream.set_zero_linger();
        }
    }
}

impl AsyncRead for Stream {
    fn poll_read(self: Pin<&mut Self>, cx: &mut Context<'_>, into: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        match self.get_mut() {
            Stream::Tcp(stream) => Pin::new(stream).poll_read(cx, into),
            Stream::Tunnel(stream) => Pin::new(stream).poll_read(cx, into),
        }
    }
}

impl AsyncWrite for Stream {
    fn poll_write(self: Pin<&mut Self>, cx: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        match self.get_mut() {
            Stream::Tcp(stream) => Pin::new(stream).poll_write(cx, bytes),
            Stream::Tunnel(stream) => Pin::new(stream).poll_write(cx, bytes),
        }
    }

    fn poll_write_vectored(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        slices: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        match self.get_mut() {
            Stream::Tcp(stream) => Pin::new(stream).poll_write_vectored(cx, slices),
            Stream::Tunnel(stream) => Pin::new(stream).poll_write_vectored(cx, slices),
        }
    }

    fn poll_flush(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        match self.get_mut() {
            Stream::Tcp(stream) => Pin::new(stream).poll_flush(cx),
            Stream::Tunnel(stream) => Pin::new(stream).poll_flush(cx),
        }
    }

    fn poll_shutdown(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        match self.get_mut() {
            Stream::Tcp(stream) => Pin::new(stream).poll_shutdown(cx),
            Stream::Tunnel(stream) => Pin::new(stream).poll_shutdown(cx),
        }
    }
}
