//! Calls by the server to the client, over the stream of the client's own calls (RFC 8881 §2.10.3.1).

use std::collections::VecDeque;
use std::task::{Context, Poll, Waker};

use bytes::Bytes;

use super::{Batch, Core};

/// Calls to be answered, and replies to be sent.
#[derive(Debug, Default)]
pub(super) struct BackCalls {
    /// Whether somebody answers the calls.
    is_served: bool,
    calls: VecDeque<Bytes>,
    replies: VecDeque<Bytes>,
    waker: Option<Waker>,
    /// Whether the stream was replaced since the last event.
    is_replaced: bool,
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

impl Core {
    /// Queues calls by the server from now on, instead of dropping them.
    pub fn serve_back_calls(&mut self) {
        self.back_calls.is_served = true;
    }

    /// The next event; a new stream comes before calls.
    pub fn poll_back_event(&mut self, cx: &Context<'_>) -> Poll<BackEvent> {
        if std::mem::take(&mut self.back_calls.is_replaced) {
            return Poll::Ready(BackEvent::Replaced);
        }
        match self.back_calls.calls.pop_front() {
            Some(call) => Poll::Ready(BackEvent::Call(call)),
            None => {
                self.back_calls.waker = Some(cx.waker().clone());
                Poll::Pending
            }
        }
    }

    /// Queues the reply to a call by the server: a whole message.
    pub fn answer_back_call(&mut self, reply: Bytes) {
        // Nobody waits for a reply on a lost stream.
        if self.is_connected {
            self.back_calls.replies.push_back(reply);
        }
    }
}
