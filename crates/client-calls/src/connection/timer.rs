use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll, ready};
use std::time::Instant;

use tokio::time::Sleep;

/// A timer that is reset only to an earlier deadline, since most deadlines pass unused.
#[derive(Debug)]
pub(super) struct Timer {
    sleep: Pin<Box<Sleep>>,
    is_set: bool,
}

impl Timer {
    pub(super) fn new() -> Timer {
        Timer { sleep: Box::pin(tokio::time::sleep(std::time::Duration::ZERO)), is_set: false }
    }

    /// Waits until `deadline`, which may differ in each call.
    pub(super) fn poll(&mut self, deadline: Instant, cx: &mut Context<'_>) -> Poll<()> {
        let wanted = tokio::time::Instant::from_std(deadline);
        loop {
            if !self.is_set || wanted < self.sleep.deadline() {
                self.sleep.as_mut().reset(wanted);
                self.is_set = true;
            }
            ready!(self.sleep.as_mut().poll(cx));
            self.is_set = false;
            if self.sleep.deadline() >= wanted {
                return Poll::Ready(());
            }
        }
    }
}
