use std::sync::OnceLock;

use tokio::sync::Semaphore;

use crate::{Error, Result};

/// A READ of blocks in flight, for all that wait for it.
#[derive(Debug)]
pub(super) struct Fill {
    /// It never has a permit. It is closed when the blocks are there or the READ failed.
    gate: Semaphore,
    error: OnceLock<Error>,
}

impl Fill {
    /// Waits until the blocks are there. They may be stale by then.
    ///
    /// # Errors
    /// The error of the READ.
    pub(super) async fn ended(&self) -> Result<()> {
        // Closing is the only way for this to end.
        let _ = self.gate.acquire().await;
        self.error.get().cloned().map_or(Ok(()), Err)
    }

    pub(super) fn end(&self, error: Option<Error>) {
        if let Some(error) = error {
            // It is set once, by the task that ends the fill.
            let _ = self.error.set(error);
        }
        self.gate.close();
    }
}

impl Default for Fill {
    fn default() -> Self {
        Fill { gate: Semaphore::new(0), error: OnceLock::new() }
    }
}

impl Fill {
    /// A fill that nobody has to wait for.
    pub(super) fn ended_already() -> Fill {
        let fill = Fill::default();
        fill.end(None);
        fill
    }
}
