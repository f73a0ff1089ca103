//! The channel of a connection: what is between its socket and its messages.
//!
//! A plain channel hands bytes over as they are, with one system call each. A [`Layer`] may take its place while the
//! connection is open, as TLS does after a probe (RFC 9289 §4.1). It changes the bytes, so nothing goes out by
//! `sendfile`: files are read first.

use std::io::{self, IoSlice, IoSliceMut};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use buffer::SharedFile;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fs;
use rustix::io::Errno;
use rustix::net::{self, RecvAncillaryBuffer, RecvFlags, SendAncillaryBuffer, SendFlags};

use crate::sys;

const NO_WAIT: Timespec = Timespec { tv_sec: 0, tv_nsec: 0 };

/// What stands between a connection's socket and its messages, and changes the bytes in both directions.
///
/// The socket does not block. A layer holds few bytes: what one record of its protocol takes in each direction.
pub trait Layer: Send {
    /// Receives from `socket`, and puts what its bytes mean into `place`, which is never empty. Returns how many bytes
    /// it put there; 0 means that the peer has sent its last byte.
    ///
    /// # Errors
    /// [`io::ErrorKind::WouldBlock`] when the socket has to become readable first; any other error ends the connection.
    fn receive(&mut self, socket: BorrowedFd<'_>, place: &mut [u8]) -> io::Result<usize>;

    /// Takes bytes of `slices`, at least one, and sends what stands for them. Returns how many bytes it took; it may
    /// hold a part of what stands for them. `has_more` says whether more is known to follow.
    ///
    /// # Errors
    /// [`io::ErrorKind::WouldBlock`] when it holds bytes and takes no more before the socket becomes writable; any
    /// other error ends the connection.
    fn send(&mut self, socket: BorrowedFd<'_>, slices: &[IoSlice<'_>], has_more: bool) -> io::Result<usize>;

    /// Sends what it holds. The answer to a handshake goes out this way too.
    ///
    /// # Errors
    /// As those of [`Layer::send`].
    fn flush(&mut self, socket: BorrowedFd<'_>) -> io::Result<()>;

    /// How many bytes it holds that the socket is still to take.
    fn unsent_bytes(&self) -> usize;

    /// Whether it holds bytes that [`Layer::receive`] would return without the socket.
    fn holds_input(&self) -> bool;

    /// How much memory it takes, in bytes. The connection's client is charged for it.
    fn memory_bytes(&self) -> usize;
}

/// The channel of one connection.
pub(crate) struct Channel {
    socket: OwnedFd,
    layer: Option<Box<dyn Layer>>,
}

/// How far a send has come.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Sent {
    /// So many bytes went out, and more may.
    Bytes(usize),
    /// So many went out, and the channel takes no more now.
    Blocked(usize),
}

/// How far a send of a part of a file has come.
pub(crate) enum FileSent {
    /// As after any other send.
    Sent(Sent),
    /// The file has become shorter: nothing is left of the part.
    Ended,
    /// The bytes have to be read and then sent: the channel changes them, or the file's file system lacks `sendfile`.
    Unsupported,
    /// The file cannot be read.
    Failed(io::Error),
}

/// What the socket shows of the peer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum PeerState {
    /// It may send and take more.
    Open,
    /// It has sent its last byte.
    Ended,
    /// The connection is broken.
    Gone,
    /// The system cannot say.
    Unknown,
}

impl Channel {
    /// A plain channel.
    pub(crate) fn new(socket: OwnedFd) -> Channel {
        Channel { socket, layer: None }
    }

    /// Puts a layer between the socket and the messages. Nothing may be left to send.
    pub(crate) fn upgrade(&mut self, layer: Box<dyn Layer>) {
        self.layer = Some(layer);
    }

    /// The socket, to wait for it.
    pub(crate) fn socket(&self) -> BorrowedFd<'_> {
        self.socket.as_fd()
    }

    /// Receives into `place`. Returns how many bytes came, 0 when the peer has sent its last one.
    ///
    /// # Errors
    /// [`io::ErrorKind::WouldBlock`] when none are there.
    #[inline]
    pub(crate) fn receive(&mut self, place: &mut [u8]) -> io::Result<usize> {
        if let Some(layer) = &mut self.layer {
            return layer.receive(self.socket.as_fd(), place);
        }
        let (count, _) = net::recv(&self.socket, place, RecvFlags::DONTWAIT)?;
        Ok(count)
    }

    /// Receives into `place` and, when that is full, into `next`, if that costs nothing more.
    pub(crate) fn receive_both(&mut self, place: &mut [u8], next: &mut [u8]) -> io::Result<usize> {
        if let Some(layer) = &mut self.layer {
            return layer.receive(self.socket.as_fd(), place);
        }
        let mut places = [IoSliceMut::new(place), IoSliceMut::new(next)];
        let mut control = RecvAncillaryBuffer::default();
        Ok(net::recvmsg(&self.socket, &mut places, &mut control, RecvFlags::DONTWAIT)?.bytes)
    }

    /// Sends bytes; `has_more` says whether more is known to follow.
    #[inline]
    pub(crate) fn send(&mut self, bytes: &[u8], has_more: bool) -> io::Result<Sent> {
        match &mut self.layer {
            Some(layer) => send_layered(layer.as_mut(), self.socket.as_fd(), &[IoSlice::new(bytes)], has_more),
            None => sent(net::send(&self.socket, bytes, flags(has_more)), bytes.len()),
        }
    }

    /// Sends the bytes of several slices.
    #[inline]
    pub(crate) fn send_vectored(&mut self, slices: &[IoSlice<'_>], has_more: bool) -> io::Result<Sent> {
        if let Some(layer) = &mut self.layer {
            return send_layered(layer.as_mut(), self.socket.as_fd(), slices, has_more);
        }
        let wanted = slices.iter().map(|slice| slice.len()).sum();
        sent(net::sendmsg(&self.socket, slices, &mut SendAncillaryBuffer::default(), flags(has_more)), wanted)
    }

    /// Whether a layer changes the bytes, so that files have to be read before they are sent.
    #[inline]
    pub(crate) fn has_layer(&self) -> bool {
        self.layer.is_some()
    }

    /// Sends a part of a file.
    ///
    /// # Errors
    /// When the connection is broken.
    pub(crate) fn send_file(&mut self, file: &SharedFile, offset_bytes: u64, length: usize) -> io::Result<FileSent> {
        if self.has_layer() {
            return Ok(FileSent::Unsupported);
        }
        let mut offset = offset_bytes;
        match fs::sendfile(&self.socket, file.as_fd(), Some(&mut offset), length) {
            Ok(0) => Ok(FileSent::Ended),
            Ok(count) => Ok(FileSent::Sent(Sent::Bytes(count))),
            Err(Errno::INTR) => Ok(FileSent::Sent(Sent::Bytes(0))),
            Err(Errno::AGAIN) => Ok(FileSent::Sent(Sent::Blocked(0))),
            Err(Errno::INVAL | Errno::NOSYS | Errno::OPNOTSUPP) => Ok(FileSent::Unsupported),
            Err(error @ (Errno::PIPE | Errno::CONNRESET | Errno::TIMEDOUT | Errno::HOSTUNREACH | Errno::NOTCONN)) => {
                Err(error.into())
            }
            Err(error) => Ok(FileSent::Failed(error.into())),
        }
    }

    /// Sends what a layer holds.
    #[inline]
    pub(crate) fn flush(&mut self) -> io::Result<()> {
        match &mut self.layer {
            Some(layer) if layer.unsent_bytes() > 0 => would_block_is_fine(layer.flush(self.socket.as_fd())),
            _ => Ok(()),
        }
    }

    /// Whether a layer holds bytes that the socket is still to take.
    #[inline]
    pub(crate) fn holds_output(&self) -> bool {
        self.layer().is_some_and(|layer| layer.unsent_bytes() > 0)
    }

    /// Whether a layer holds bytes that a receive would return, though the socket has none.
    #[inline]
    pub(crate) fn holds_input(&self) -> bool {
        self.layer().is_some_and(Layer::holds_input)
    }

    /// Its layer, if it has one.
    #[inline]
    fn layer(&self) -> Option<&dyn Layer> {
        match &self.layer {
            None => None,
            Some(layer) => {
                cold();
                Some(layer.as_ref())
            }
        }
    }

    /// How much memory it takes.
    #[inline]
    pub(crate) fn memory_bytes(&self) -> usize {
        self.layer().map_or(0, Layer::memory_bytes)
    }

    /// How many bytes the peer has not acknowledged, those included that a layer holds.
    pub(crate) fn unacknowledged_bytes(&self) -> io::Result<usize> {
        let held = self.layer().map_or(0, Layer::unsent_bytes);
        Ok(sys::unacknowledged_bytes(self.socket.as_fd())?.saturating_add(held))
    }

    /// What the socket shows of the peer now.
    pub(crate) fn peer_state(&self) -> PeerState {
        let mut polled = [PollFd::new(&self.socket, PollFlags::RDHUP)];
        if poll(&mut polled, Some(&NO_WAIT)).is_err() {
            return PeerState::Unknown;
        }
        match polled[0].revents() {
            flags if flags.intersects(PollFlags::ERR | PollFlags::HUP) => PeerState::Gone,
            flags if flags.contains(PollFlags::RDHUP) => PeerState::Ended,
            _ => PeerState::Open,
        }
    }
}

impl Sent {
    /// How many bytes went out.
    pub(crate) fn bytes(self) -> usize {
        let (Sent::Bytes(count) | Sent::Blocked(count)) = self;
        count
    }
}

fn send_layered(
    layer: &mut dyn Layer,
    socket: BorrowedFd<'_>,
    slices: &[IoSlice<'_>],
    has_more: bool,
) -> io::Result<Sent> {
    match layer.send(socket, slices, has_more) {
        Ok(count) if layer.unsent_bytes() > 0 => Ok(Sent::Blocked(count)),
        Ok(count) => Ok(Sent::Bytes(count)),
        Err(error) => would_block_is_fine(Err(error)).map(|()| Sent::Blocked(0)),
    }
}

fn would_block_is_fine(result: io::Result<()>) -> io::Result<()> {
    match result {
        Err(error) if matches!(error.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::Interrupted) => Ok(()),
        other => other,
    }
}

/// Keeps what layers need out of the way of plain channels.
#[cold]
fn cold() {}

/// A closed peer is an error here, never a signal.
fn flags(has_more: bool) -> SendFlags {
    let flags = SendFlags::NOSIGNAL | SendFlags::DONTWAIT;
    if has_more { flags | SendFlags::MORE } else { flags }
}

fn sent(result: Result<usize, Errno>, wanted: usize) -> io::Result<Sent> {
    match result {
        Ok(count) if count < wanted => Ok(Sent::Blocked(count)),
        Ok(count) => Ok(Sent::Bytes(count)),
        Err(Errno::AGAIN) => Ok(Sent::Blocked(0)),
        Err(Errno::INTR) => Ok(Sent::Bytes(0)),
        Err(error) => Err(error.into()),
    }
}
