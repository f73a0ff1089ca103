//! Brings all writes through a file system to the server's stable storage.

use vfs::{Context, OpenFile, Result};

use super::shared::Shared;

/// Syncs each file that is open for writing, even after one fails. Returns the first error.
pub(super) fn sync_all(shared: &Shared, cx: &Context<'_>) -> Result<()> {
    let mut outcome = Ok(());
    for file in shared.opens.writers() {
        let synced = file.sync(cx);
        outcome = outcome.and(synced);
    }
    outcome
}
