use std::sync::Arc;

use tokio::sync::watch;

/// Ends copies early and in order. No further file is begun, files in progress are left for
/// [`CopyOptions::resume`](super::CopyOptions::resume), and directories get their modes and times. Clones end the same
/// copies.
#[derive(Debug, Clone)]
pub struct Stop(Arc<watch::Sender<bool>>);

impl Default for Stop {
    fn default() -> Stop {
        Stop(Arc::new(watch::Sender::new(false)))
    }
}

impl Stop {
    /// Ends the copies that have this in their options. They return [`CopyError::Stopped`](super::CopyError::Stopped)
    /// once the servers have answered the requests in flight.
    pub fn stop(&self) {
        self.0.send_replace(true);
    }

    /// Whether the copies are to end.
    pub fn is_stopped(&self) -> bool {
        *self.0.borrow()
    }

    /// Waits until the copies are to end.
    pub(super) async fn stopped(&self) {
        // `self` holds the sender, so this cannot fail.
        let _ = self.0.subscribe().wait_for(|is_stopped| *is_stopped).await;
    }
}
