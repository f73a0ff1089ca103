use std::fmt::Debug;
use std::sync::Arc;

use client_calls::Principal;

use super::batch::Batch;
use super::ids::FileId;
use crate::Error;

/// The open file through which dirty data is written later. It keeps the cache's state from knowing files and mounts.
pub(super) trait LateIo: Debug + Send + Sync {
    /// The user who opened the file.
    fn user(&self) -> &Arc<Principal>;

    /// Whether the open has locks, or had some that are lost.
    fn has_locks(&self) -> bool;

    /// Writes a batch of the cached file `file` in the background, and reports the end to the cache.
    fn start_write(self: Arc<Self>, file: FileId, batch: Batch);

    /// Commits what was written to `file` in the background, and reports the end to the cache.
    fn start_commit(self: Arc<Self>, file: FileId);

    /// The error of data that cannot be written because the runtime has ended.
    fn closed(&self) -> Error;
}
