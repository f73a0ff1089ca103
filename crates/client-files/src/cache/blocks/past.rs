//! Changes of files that bypass the block cache.
//!
//! The server may carry out a WRITE in flight before or after a change of the file's length, so nothing is sent while a
//! file is truncated. While the bytes of a file are changed past the cache, nothing read from it is kept.

use std::sync::Arc;

use vfs::SetAttributes;

use super::ids::FileId;
use super::table::BlockTable;
use crate::file::Io;
use crate::{Mount, Result};

/// Holds back a file's dirty data while its length is set.
pub(super) struct Hold {
    io: Arc<Io>,
    file: FileId,
}

impl Hold {
    pub(super) fn new(io: &Arc<Io>, file: FileId) -> Hold {
        let mut state = io.mount.blocks().lock();
        let held = state.file(file);
        held.late.holds += 1;
        held.tasks += 1;
        Hold { io: Arc::clone(io), file }
    }

    pub(super) async fn set_size(self, size_bytes: u64) -> Result<()> {
        self.quiet().await;
        let set = SetAttributes { size_bytes: Some(size_bytes), ..SetAttributes::default() };
        let attributes = self.io.setattr(&set).await?;
        let mut state = self.io.mount.blocks().lock();
        state.set_size(self.file, size_bytes);
        let changes = state.file_ref(self.file).changes;
        state.learn(self.file, &attributes, changes);
        Ok(())
    }

    /// Waits until no WRITE is in flight: one that is carried out later would extend the file again.
    async fn quiet(&self) {
        let unfinished = |state: &mut BlockTable| state.file_ref(self.file).late.is_under_way().then_some(self.file);
        self.io.mount.blocks().wait_for_progress(unfinished).await;
    }
}

impl Drop for Hold {
    fn drop(&mut self) {
        let mut state = self.io.mount.blocks().lock();
        let held = state.file(self.file);
        held.late.holds -= 1;
        held.tasks -= 1;
        held.late.wake.notify_one();
        state.forget_unused(self.file);
    }
}

/// Holds back all dirty data of a mount while a file is truncated of which only the name is known.
#[derive(Debug)]
pub(crate) struct HoldAll(Mount);

impl HoldAll {
    /// Waits until no WRITE is in flight.
    pub(crate) async fn begin(mount: &Mount) -> HoldAll {
        mount.blocks().lock().holds += 1;
        let hold = HoldAll(mount.clone());
        let is_under_way = |state: &BlockTable, file: FileId| state.file_ref(file).late.is_under_way();
        let unfinished = |state: &mut BlockTable| state.file_numbers().find(|file| is_under_way(state, *file));
        mount.blocks().wait_for_progress(unfinished).await;
        hold
    }
}

impl Drop for HoldAll {
    fn drop(&mut self) {
        let mut state = self.0.blocks().lock();
        state.holds -= 1;
        state.wake_all();
    }
}

/// A change of a file's bytes past the cache. It ends when this is dropped.
#[derive(Debug)]
pub(crate) struct Passing {
    io: Arc<Io>,
    file: FileId,
}

impl Passing {
    pub(super) fn begin(io: &Arc<Io>, file: FileId) -> Passing {
        io.mount.blocks().lock().begin_passing(file);
        Passing { io: Arc::clone(io), file }
    }
}

impl Drop for Passing {
    fn drop(&mut self) {
        self.io.mount.blocks().lock().end_passing(self.file);
    }
}
