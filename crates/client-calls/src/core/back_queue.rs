//! The queue of calls by the server, and of the replies to them.

use std::collections::VecDeque;
use std::task::Waker;

use bytes::Bytes;

use super::batch::Batch;

/// Calls to be answered, and replies to be sent.
#[derive(Debug, Default)]
pub(super) struct BackCalls {
    /// Whether somebody answers the calls.
    pub(super) is_served: bool,
    pub(super) calls: VecDeque<Bytes>,
    pub(super) replies: VecDeque<Bytes>,
    pub(super) waker: Option<Waker>,
    /// Whether the stream was replaced since the last event.
    pub(super) is_replaced: bool,
}

/// A call by the server, or a new stream for its calls.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum BackEvent {
    /// A call: a whole message.
    Call(Bytes),
    /// There is a new stream, which the server does not yet know it may call over.
    Replaced,
}

impl BackCalls {
    /// The most calls and replies that wait together, more than the slots of any back channel.
    const MAX_WAITING: usize = 64;

    /// Queues a call; `false` if nobody answers calls or the queue is full.
    pub(super) fn push(&mut self, message: Bytes, wakers: &mut Vec<Waker>) -> bool {
        if !self.is_served || self.calls.len() + self.replies.len() >= Self::MAX_WAITING {
            return false;
        }
        self.calls.push_back(message);
        wakers.extend(self.waker.take());
        true
    }

    /// Reports a new stream.
    pub(super) fn replace_stream(&mut self, wakers: &mut Vec<Waker>) {
        self.is_replaced = self.is_served;
        wakers.extend(self.waker.take());
    }

    pub(super) fn has_replies(&self) -> bool {
        !self.replies.is_empty()
    }

    /// Puts replies before everything else: a server that waits for them may hold up an OPEN.
    pub(super) fn fill(&mut self, batch: &mut Batch) {
        for reply in self.replies.drain(..) {
            batch.put(&rpc::record::last_mark(reply.len()).to_be_bytes());
            batch.put_shared(&reply);
        }
    }

    /// Drops the calls and replies of a lost stream: the server calls again on another one.
    pub(super) fn clear(&mut self) {
        self.calls.clear();
        self.replies.clear();
    }

    /// Wakes the task that waits for a call, since none will come.
    pub(super) fn end(&mut self, wakers: &mut Vec<Waker>) {
        self.clear();
        wakers.extend(self.waker.take());
    }
}
