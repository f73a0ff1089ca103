//! Waits for the server on a thread that may block.

use std::io;
use std::pin::Pin;

use tokio::runtime;
use vfs::{Context, Error, Result};

use super::shared::Shared;
use super::status;

/// The error of a call on a runtime thread: blocking there would keep the reply from being received.
const WRONG_THREAD: &str = "a remote file system is called on a thread of an asynchronous runtime; \
                            call it on a thread that may wait (std::thread)";

impl Shared {
    /// Waits for the server's reply.
    pub(super) fn wait<T>(&self, cx: &Context<'_>, work: impl Future<Output = client_files::Result<T>>) -> Result<T> {
        self.wait_for(cx, work)?.map_err(status::neutral)
    }

    /// Waits for the server's reply, and leaves an error to the caller.
    pub(super) fn wait_for<T>(
        &self,
        cx: &Context<'_>,
        work: impl Future<Output = client_files::Result<T>>,
    ) -> Result<client_files::Result<T>> {
        if !cx.may_block {
            return Err(Error::WouldBlock);
        }
        if is_runtime_thread() {
            return Err(Error::Io(io::Error::other(WRONG_THREAD)));
        }
        Ok(self.runtime.block_on(work))
    }

    /// Runs `work` on the runtime, and waits for its end on a thread that may block. If the runtime has ended, the work
    /// is not done.
    pub(super) fn run(&self, work: impl Future<Output = ()> + Send + 'static) {
        // Tasks of one type are compiled once, and not for each kind of call.
        let work: Pin<Box<dyn Future<Output = ()> + Send>> = Box::pin(work);
        let task = self.runtime.handle().spawn(work);
        if !is_runtime_thread() {
            // A task that ended early was cancelled with its runtime.
            let _ = self.runtime.block_on(task);
        }
    }
}

pub(super) fn is_runtime_thread() -> bool {
    runtime::Handle::try_current().is_ok()
}
