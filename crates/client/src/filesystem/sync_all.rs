//! Everything that was written through a file system, on the server's stable storage.

use vfs::{Context, OpenFile, Result};

use super::Shared;

/// Syncs each file that is open for writing, also after one has failed. The first error is told.
pub(super) fn sync_all(shared: &Shared, cx: &Context<'_>) -> Result<()> {
    let mut outcome = Ok(());
    for file in shared.opens.writers() {
        let synced = file.sync(cx);
        outcome = outcome.and(synced);
    }
    outcome
}
