use std::task::Waker;
use std::time::Duration;

use buffer::Buffer;
use bytes::Bytes;
use rpc::Xid;

use super::Failure;
use crate::statistics::{Call, Label};

/// How a place in the table of calls is used.
#[derive(Debug, Default)]
pub(super) enum State {
    /// By no call.
    #[default]
    Free,
    /// By a call without a reply.
    Pending,
    /// By a call that is over and whose caller has not looked yet.
    Done(Result<Bytes, Failure>),
}

/// One place in the table of calls. Its memory is used again by later calls.
#[derive(Debug)]
pub(super) struct Slot {
    pub(super) xid: Xid,
    pub(super) state: State,
    /// The call as it is sent, up to its data.
    pub(super) head: Buffer,
    /// The data of the call, shared with the caller and not copied; the length before it is in `head`.
    pub(super) data: Bytes,
    /// What stands behind the data.
    pub(super) behind: &'static [u8],
    pub(super) waker: Option<Waker>,
    /// Whether a message is whole, as far as its type tells.
    pub(super) is_whole: fn(&[u8]) -> bool,
    /// How many replies came that were not.
    pub(super) damaged_replies: u32,
    /// Whether the call is in the queue to the socket.
    pub(super) is_queued: bool,
    /// What is counted when it ends.
    pub(super) call: Call,
    /// How many replies had come to any call when its time began.
    pub(super) replies_before: u64,
    pub(super) deadline_ns: u64,
    pub(super) timeout: Duration,
}

impl Slot {
    /// Memory of a head that is kept for the next call, in bytes.
    const MAX_KEPT_BYTES: usize = 16 * 1024;

    pub(super) fn new() -> Slot {
        Slot {
            xid: Xid(0),
            state: State::Free,
            head: Buffer::new(),
            data: Bytes::new(),
            behind: &[],
            waker: None,
            is_whole: |_| true,
            damaged_replies: 0,
            is_queued: false,
            call: Call::new(Label::OTHER, 0),
            replies_before: 0,
            deadline_ns: 0,
            timeout: Duration::ZERO,
        }
    }

    pub(super) fn is_free(&self) -> bool {
        matches!(self.state, State::Free)
    }

    pub(super) fn is_pending(&self) -> bool {
        matches!(self.state, State::Pending)
    }

    /// How long the call is when it is sent, in bytes, padding included.
    pub(super) fn message_bytes(&self) -> usize {
        self.head.len() + xdr_padded(self.data.len()) + self.behind.len()
    }

    /// Ends the call and lets its memory go or be used again; the caller's waker is given back to be woken.
    pub(super) fn finish(&mut self, result: Result<Bytes, Failure>) -> Option<Waker> {
        self.state = State::Done(result);
        self.forget_message();
        self.waker.take()
    }

    /// Makes the place free.
    pub(super) fn release(&mut self) {
        self.state = State::Free;
        self.waker = None;
        self.forget_message();
    }

    fn forget_message(&mut self) {
        (self.data, self.behind) = (Bytes::new(), &[]);
        if self.head.capacity() > Self::MAX_KEPT_BYTES {
            self.head = Buffer::new();
        }
    }
}

/// The length of an opaque of `length` bytes with its padding (RFC 4506 §4.10).
pub(super) fn xdr_padded(length: usize) -> usize {
    length.next_multiple_of(4)
}
