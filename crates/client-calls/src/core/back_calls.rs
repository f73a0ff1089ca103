//! Calls by the server to the client, over the stream of the client's own calls (RFC 8881 §2.10.3.1).

use std::task::{Context, Poll};

use bytes::Bytes;

use super::Core;
use super::back_queue::BackEvent;

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
