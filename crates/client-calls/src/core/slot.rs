use std::task::Waker;
use std::time::Duration;

use buffer::Buffer;
use bytes::Bytes;
use rpc::Xid;

use super::Failure;
use crate::statistics::{Call, Label};

/// The use of an entry in the table of calls.
#[derive(Debug, Default)]
pub(super) enum SlotState {
    /// No call.
    #[default]
    Free,
    /// A call without a reply.
    Pending,
    /// A call that has ended, and whose result was not taken.
    Done(Result<Bytes, Failure>),
}

/// An entry of the table of calls. Later calls reuse its memory.
#[derive(Debug)]
pub(super) struct Slot {
    pub(super) xid: Xid,
    pub(super) state: SlotState,
    /// The encoded call, up to its data.
    pub(super) head: Buffer,
    /// The data of the call, shared with the caller; its length is in `head`.
    pub(super) data: Bytes,
    /// What follows the data.
    pub(super) behind: &'static [u8],
    pub(super) waker: Option<Waker>,
    /// Whether a reply is whole, as far as its type tells.
    pub(super) is_whole: fn(&[u8]) -> bool,
    /// How many replies were not whole.
    pub(super) damaged_replies: u32,
    /// Whether the call is in the queue to the socket.
    pub(super) is_queued: bool,
    /// The call's record for the statistics.
    pub(super) call: Call,
    /// The connection's count of replies when the call's timeout began.
    pub(super) replies_before: u64,
    pub(super) deadline_ns: u64,
    pub(super) timeout: Duration,
}

impl Slot {
    /// The most memory of a head that is kept for the next call, in bytes.
    const MAX_KEPT_BYTES: usize = 16 * 1024;

    /// So many free entries.
    pub(super) fn many(count: usize) -> Box<[Slot]> {
        (0..count).map(|_| Slot::new()).collect()
    }

    fn new() -> Slot {
        Slot {
            xid: Xid(0),
            state: SlotState::Free,
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
        matches!(self.state, SlotState::Free)
    }

    pub(super) fn is_pending(&self) -> bool {
        matches!(self.state, SlotState::Pending)
    }

    /// The length of the call as sent, in bytes, with padding.
    pub(super) fn message_bytes(&self) -> usize {
        self.head.len() + xdr_padded(self.data.len()) + self.behind.len()
    }

    /// Ends the call, frees its message and returns the waker of its caller.
    pub(super) fn finish(&mut self, result: Result<Bytes, Failure>) -> Option<Waker> {
        self.state = SlotState::Done(result);
        self.forget_message();
        self.waker.take()
    }

    /// Frees the entry.
    pub(super) fn release(&mut self) {
        self.state = SlotState::Free;
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
