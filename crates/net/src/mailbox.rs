//! What other threads tell a loop.

use std::io;
use std::mem;
use std::net::SocketAddr;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::sync::mpsc::SyncSender;
use std::sync::{Mutex, PoisonError};
use std::time::Instant;

use rustix::event::{EventfdFlags, eventfd};

use crate::Delivery;
use crate::budget::ManyConnections;
use crate::connection::Accepted;
use crate::jobs::{DoneJob, Fetched};
use crate::sys::LocalAddress;

/// One piece of news for a loop.
pub(crate) enum LoopMessage {
    /// A connection was accepted and is now the loop's.
    Accepted(Accepted),
    /// A blocking thread has finished a job of the loop.
    Done(DoneJob),
    /// A blocking thread has read what a connection has to send next.
    Fetched(Fetched),
    /// Bytes that the service sends over a connection on its own account.
    Send {
        /// The connection's number.
        connection: u64,
        /// The bytes.
        bytes: Vec<u8>,
    },
    /// A datagram that the service sends on its own account.
    SendDatagram(OwnDatagram),
    /// Somebody asks what became of what was sent over a connection.
    AskDelivery {
        /// The connection's number.
        connection: u64,
        /// A peer that sends something after this is there.
        since: Instant,
        /// Where to tell it.
        tell: SyncSender<Delivery>,
    },
    /// Silent connections of clients without exports, or of those with very many, are to make room for others.
    MakeRoom(ManyConnections),
    /// The server is to finish what it has begun and to end by `deadline`.
    Shutdown {
        /// When whatever is left is dropped.
        deadline: Instant,
    },
}

/// A datagram that answers nothing.
pub(crate) struct OwnDatagram {
    /// Which of the server's UDP sockets sends it.
    pub(crate) socket: usize,
    /// Which address of ours it comes from, when the socket has several.
    pub(crate) from: Option<LocalAddress>,
    pub(crate) to: SocketAddr,
    pub(crate) bytes: Vec<u8>,
}

/// A loop's messages, with a file descriptor that becomes readable when there are some.
///
/// Whoever puts the first message into an empty box wakes the loop; the loop takes all messages at once after it has
/// silenced the descriptor, so no message is left behind without a wake-up to come.
pub(crate) struct Mailbox {
    messages: Mutex<Vec<LoopMessage>>,
    wake: OwnedFd,
}

impl Mailbox {
    /// Makes an empty mailbox.
    pub(crate) fn new() -> io::Result<Mailbox> {
        let wake = eventfd(0, EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK)?;
        Ok(Mailbox { messages: Mutex::new(Vec::new()), wake })
    }

    /// The descriptor that becomes readable when there are messages.
    pub(crate) fn wake_fd(&self) -> BorrowedFd<'_> {
        self.wake.as_fd()
    }

    /// Puts a message in.
    pub(crate) fn post(&self, message: LoopMessage) {
        let mut messages = self.messages.lock().unwrap_or_else(PoisonError::into_inner);
        let was_empty = messages.is_empty();
        messages.push(message);
        drop(messages);
        if was_empty {
            // The only failure of this write is a counter that is full, and then the loop is about to wake up anyway.
            let _ = rustix::io::write(&self.wake, &1u64.to_ne_bytes());
        }
    }

    /// Takes all messages in exchange for an empty list, whose memory is used for the next ones.
    pub(crate) fn take(&self, empty: &mut Vec<LoopMessage>) {
        let mut count = [0; 8];
        // Nothing to read only means that the messages were taken before their wake-up arrived.
        let _ = rustix::io::read(&self.wake, &mut count);
        let mut messages = self.messages.lock().unwrap_or_else(PoisonError::into_inner);
        mem::swap(&mut *messages, empty);
    }
}
