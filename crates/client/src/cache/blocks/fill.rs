use std::sync::OnceLock;

use tokio::sync::Semaphore;

use crate::{Error, Result};

/// Blocks that are on their way from the server, for all who wait for them.
#[derive(Debug)]
pub(super) struct Fill {
    /// It never has a permit: it is closed when the blocks are there, or cannot be had.
    gate: Semaphore,
    error: OnceLock<Error>,
}

impl Fill {
    /// Waits until the blocks are there. They may be out of date by then.
    ///
    /// # Errors
    /// Why they cannot be had.
    pub(super) async fn ended(&self) -> Result<()> {
        // Closing is the only way for this to end.
        let _ = self.gate.acquire().await;
        self.error.get().cloned().map_or(Ok(()), Err)
    }

    pub(super) fn end(&self, error: Option<Error>) {
        if let Some(error) = error {
            // Whoever ends it does so once.
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
    /// One that nobody has to wait for.
    pub(super) fn ended_already() -> Fill {
        let fill = Fill::default();
        fill.end(None);
        fill
    }
}
