use std::sync::Arc;

use tokio::sync::watch;

/// Ends copies early and in order: no further file is begun, those that are being copied are left so that
/// [`CopyOptions::resume`](super::CopyOptions::resume) goes on where they end, and directories get their modes and
/// times. Clones end the same copies.
#[derive(Debug, Clone)]
pub struct Stop(Arc<watch::Sender<bool>>);

impl Default for Stop {
    fn default() -> Stop {
        Stop(Arc::new(watch::Sender::new(false)))
    }
}

impl Stop {
    /// Ends the copies that have this in their options. They return [`CopyError::Stopped`](super::CopyError::Stopped)
    /// soon, as soon as the servers have answered what they were sent.
    pub fn stop(&self) {
        self.0.send_replace(true);
    }

    /// Whether the copies are to end.
    pub fn is_stopped(&self) -> bool {
        *self.0.borrow()
    }

    /// Waits until the copies are to end.
    pub(super) async fn stopped(&self) {
        // The sender is in `self`, so that it stays.
        let _ = self.0.subscribe().wait_for(|is_stopped| *is_stopped).await;
    }
}
