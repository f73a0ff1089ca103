use std::error::Error;
use std::net::IpAddr;
use std::num::NonZero;
use std::ops::Range;
use std::sync::Arc;
use std::time::Instant;

use buffer::Output;
use peer::Peer;

use crate::Layer;

/// What the start of a stream's unread bytes is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Frame {
    /// Not a whole message yet; it takes at least this many bytes in all, as far as can be told.
    Partial(usize),
    /// A whole message.
    Message {
        /// Where its bytes are.
        body: Range<usize>,
        /// How many bytes of the stream it took, marks included.
        consumed: usize,
    },
}

/// Why the bytes of a stream make no message. The connection is closed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum FrameError {
    /// A message is too large.
    #[error("message of {bytes} bytes or more is over the limit of {max}")]
    TooLarge {
        /// Its smallest possible size.
        bytes: usize,
        /// The limit.
        max: usize,
    },
    /// A message has too many fragments.
    #[error("message has more than {max} fragments")]
    TooManyFragments {
        /// The limit.
        max: usize,
    },
    /// A message is too large for a client without exports.
    #[error("message of {bytes} bytes from a client without exports is over its limit of {max}")]
    TooLargeForStranger {
        /// Its size.
        bytes: usize,
        /// The limit.
        max: usize,
    },
    /// Bytes came behind a request for an upgrade before its answer went out.
    #[error("bytes came behind a request for an upgrade, before its answer went out")]
    BeforeUpgrade,
}

/// Why a service gives up a connection.
#[derive(Debug, Clone, thiserror::Error)]
pub enum ServiceError {
    /// A message is none that can be answered.
    #[error("{0}")]
    NotACall(#[source] Arc<dyn Error + Send + Sync>),
    /// The service has a bug.
    #[error("a bug in the server")]
    Bug,
    /// The service would not wait where it may.
    #[error("the service would not wait where it may")]
    WouldNotWait,
    /// The service has no layer for an upgrade.
    #[error("there is no layer for an upgrade")]
    NoLayer,
    /// The channel has a layer already.
    #[error("the channel has a layer already")]
    SecondLayer,
}

/// One message to answer.
#[derive(Debug, Clone, Copy)]
pub struct Call<'a> {
    /// The message.
    pub message: &'a [u8],
    /// Who sent it.
    pub peer: Peer,
    /// Which worker asks: loops first, then blocking threads, numbered from 0 without gaps. Blocking threads may share
    /// a number.
    pub worker: usize,
    /// Whether this thread may wait.
    pub may_block: bool,
    /// The time at which the message was read.
    pub now: Instant,
    /// The number of its batch: messages with the same number were all received before the first of them was answered,
    /// and are answered one after the other by one thread. `None` for one that is answered by itself.
    pub batch: Option<NonZero<u64>>,
    /// Whether the sender has no memory left of what the server's [`Limits`](crate::Limits) give it: a reply whose size
    /// can be chosen is to be small.
    pub is_scarce: bool,
}

/// What a call waits for: calls of one lane may keep each other waiting, and nobody else.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Lane(pub u64);

/// What became of a message.
#[derive(Debug, Clone)]
pub enum Verdict {
    /// The answer is in the output.
    Answered,
    /// The answer is in the output. Behind it, everything in both directions goes through the [`Service::layer`]
    /// (RFC 9289 §4.1). A message that came before the answer went out closes the connection. Not for datagrams.
    Upgrade,
    /// There is no answer (a datagram that makes no sense, a call that is being worked on already).
    Silent,
    /// The answer has to wait: ask again from a thread that may. The output is as it was before.
    WouldBlock(Lane),
    /// The sender cannot be understood or is hostile: close its connection.
    Close(ServiceError),
}

/// What became of what was sent over a connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Delivery {
    /// Every message is answered, and the peer has acknowledged every answer; or it still sends.
    Delivered,
    /// The connection is open, and something is not answered or not acknowledged.
    Pending,
    /// The connection is gone, and answers may be lost with it.
    Lost,
}

/// What answers messages. It is called from several threads at once.
pub trait Service: Send + Sync + 'static {
    /// Finds the first message in the unread bytes of a stream. Fragments of one message may be moved together in
    /// place.
    ///
    /// # Errors
    /// When no message can begin like this, or a message would be larger than the service takes.
    fn frame(&self, unread: &mut [u8]) -> Result<Frame, FrameError>;

    /// Where in a stream's unread bytes, which begin with a large message that is not whole yet, its bulk begins: that
    /// is received to the start of a page, where a kernel copies from it best.
    fn bulk_at(&self, unread: &[u8]) -> usize {
        let _ = unread;
        0
    }

    /// Answers one message by appending to `output`, with the marks that its transport needs.
    fn call(&self, call: &Call<'_>, output: &mut Output) -> Verdict;

    /// Whether messages that come right behind this one may be answered together with it; it is asked of every message,
    /// so that the answer has to be cheap.
    fn begins_run(&self, message: &[u8]) -> bool {
        let _ = message;
        false
    }

    /// Whether `next`, which came right behind `previous` over the same connection, may be answered together with it.
    fn continues_run(&self, previous: &[u8], next: &[u8]) -> bool {
        let _ = (previous, next);
        false
    }

    /// Answers the message of `call` and, one after the other, those of `rest`, each of which continues the one before
    /// it. They are answered all or, with a verdict that says so, none.
    fn call_run(&self, call: &Call<'_>, rest: &[&[u8]], output: &mut Output) -> Verdict {
        let mark = output.mark();
        for message in std::iter::once(call.message).chain(rest.iter().copied()) {
            match self.call(&Call { message, ..*call }, output) {
                Verdict::Answered | Verdict::Silent => {}
                verdict => {
                    output.rewind(&mark);
                    return verdict;
                }
            }
        }
        Verdict::Answered
    }

    /// Makes the layer for the channel of `peer`, after a [`Verdict::Upgrade`]. Without one the connection is closed.
    fn layer(&self, peer: &Peer) -> Option<Box<dyn Layer>> {
        let _ = peer;
        None
    }

    /// Whether the client at `address` may use the server: others are bound to small messages and little memory.
    fn trusts(&self, address: IpAddr) -> bool {
        let _ = address;
        true
    }

    /// Takes note that a connection is gone. `is_delivered` says whether the peer closed it, or fell silent, after it
    /// had acknowledged every answer.
    fn disconnected(&self, peer: &Peer, is_delivered: bool) {
        let _ = (peer, is_delivered);
    }
}
