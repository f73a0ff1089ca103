use std::future::poll_fn;
use std::sync::Arc;
use std::task::Poll;

use bytes::Bytes;

use super::shared::Shared;
use crate::core::BackEvent;

/// The server's calls on a connection, for one task that answers them.
#[derive(Debug)]
pub struct BackCalls {
    shared: Arc<Shared>,
}

impl BackCalls {
    pub(super) fn new(shared: Arc<Shared>) -> BackCalls {
        shared.lock().core.serve_back_calls();
        BackCalls { shared }
    }

    /// The next call or new stream, or `None` when the connection is closed.
    pub async fn next(&self) -> Option<BackEvent> {
        poll_fn(|cx| {
            let mut state = self.shared.lock();
            if state.is_closing {
                return Poll::Ready(None);
            }
            state.core.poll_back_event(cx).map(Some)
        })
        .await
    }

    /// Sends the reply to a call: a whole message.
    pub fn answer(&self, reply: Bytes) {
        let driver = {
            let mut state = self.shared.lock();
            state.core.answer_back_call(reply);
            state.driver.take()
        };
        if let Some(driver) = driver {
            driver.wake();
        }
    }
}
