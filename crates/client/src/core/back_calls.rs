//! Calls of the server to the client, over the stream of the client's own calls (RFC 8881 §2.10.3.1).

use std::collections::VecDeque;
use std::task::{Context, Poll, Waker};

use bytes::Bytes;

use super::{Batch, Core};

/// Calls that wait for somebody to take them, and replies that wait to be sent.
#[derive(Debug, Default)]
pub(super) struct BackCalls {
    /// Whether somebody takes them at all.
    is_served: bool,
    calls: VecDeque<Bytes>,
    replies: VecDeque<Bytes>,
    waker: Option<Waker>,
    /// Whether there is another stream since somebody looked last.
    is_replaced: bool,
}

/// What a server wants, or what became of the stream that it calls over.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum BackEvent {
    /// A call: a whole message.
    Call(Bytes),
    /// There is another stream, of which the server does not know yet that it may call over it.
    Replaced,
}

impl BackCalls {
    /// The most calls and replies that wait together: more than any session's back channel has slots.
    const MAX_WAITING: usize = 64;

    /// Takes a call that came, and says whether there was room.
    pub(super) fn push(&mut self, message: Bytes, wakers: &mut Vec<Waker>) -> bool {
        if !self.is_served || self.calls.len() + self.replies.len() >= Self::MAX_WAITING {
            return false;
        }
        self.calls.push_back(message);
        wakers.extend(self.waker.take());
        true
    }

    /// Tells that there is another stream.
    pub(super) fn replace_stream(&mut self, wakers: &mut Vec<Waker>) {
        self.is_replaced = self.is_served;
        wakers.extend(self.waker.take());
    }

    pub(super) fn has_replies(&self) -> bool {
        !self.replies.is_empty()
    }

    /// Puts the replies before everything else: whoever waits for them may hold up somebody's OPEN.
    pub(super) fn fill(&mut self, batch: &mut Batch) {
        for reply in self.replies.drain(..) {
            batch.put(&rpc::record::last_mark(reply.len()).to_be_bytes());
            batch.put_shared(&reply);
        }
    }

    /// Forgets replies to calls of a stream that is gone: the server calls again on another one.
    pub(super) fn clear(&mut self) {
        self.calls.clear();
        self.replies.clear();
    }

    /// Wakes whoever waits for a call, since there will be none.
    pub(super) fn end(&mut self, wakers: &mut Vec<Waker>) {
        self.clear();
        wakers.extend(self.waker.take());
    }
}

impl Core {
    /// Keeps calls of the server from now on, until somebody takes and answers them.
    pub fn serve_back_calls(&mut self) {
        self.back_calls.is_served = true;
    }

    /// The next call of the server, after word of a new stream.
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

    /// Puts the reply to a call of the server in the queue: a whole message.
    pub fn answer_back_call(&mut self, reply: Bytes) {
        // A reply to a stream that is gone has nobody who waits for it.
        if self.is_connected {
            self.back_calls.replies.push_back(reply);
        }
    }
}
