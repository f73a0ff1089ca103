use tokio::task::AbortHandle;

/// The task that accepts connections; dropping this ends it.
#[derive(Debug)]
pub(super) struct Listening(pub(super) AbortHandle);

impl Drop for Listening {
    fn drop(&mut self) {
        self.0.abort();
    }
}
