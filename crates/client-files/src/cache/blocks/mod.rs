//! The data of files in memory: read, read ahead, and dirty data to be written back.
//!
//! All files of a mount share one bound of memory, and all opens of a file share its data. What happens to the blocks
//! is decided without sockets and tasks, in `state`, `read`, `write` and `flush`; the tasks here carry it out. Blocks
//! are filled and written by tasks, never by the caller's future, so that a caller who goes away leaves nothing half
//! done.
//!
//! The clean data of a file is of one version of it: change attribute, time of modification, size. When attributes show
//! another version that this client's writes do not explain, clean blocks are dropped. Dirty blocks stay, and overwrite
//! what others wrote.
//!
//! # Reading
//! Bytes are found under one lock and copied outside of it: a reader shares a block's memory, and a change of the block
//! meanwhile changes a copy. A sequential reader sees the rest of its block through a reader window
//! (`reader_window.rs`), which has a lock of its own. Whatever may change the file or a block closes the window first;
//! so does the end of the validity of the file's attributes. Of a file larger than the memory, the first part stays and
//! the rest is dropped soon after it was read.
//!
//! # Writing
//! A dirty byte is unsent, then being written, then unstable, then being committed (`block.rs`). When the write
//! verifier changes, unstable bytes are unsent again. At most `Caching::max_dirty_bytes` of blocks have changes;
//! writers wait beyond that.
//!
//! # Changes by other clients
//! Replies to WRITE carry the file's attributes before and after (RFC 1813 §2.6). In NFSv4, GETATTRs around the WRITE
//! do. `series.rs` compares them: of the WRITEs in flight together, the first to be carried out must have found the
//! file as it was known. Otherwise another client changed it, and clean blocks are dropped. Under a delegation for
//! writing, the COMMIT alone asks for attributes (`promise.rs`).
//!
//! Two changes by others go unnoticed: one between two WRITEs in flight together that does not lengthen the file, and
//! one before a WRITE whose reply does not say what it found (NFSv2, and servers that leave it out). Clients that share
//! a file for writing must lock it, or mount with `direct`.
//!
//! # Changes past the cache
//! While a raw write or a copy by the server changes a file, each read asks the server and nothing of it is kept. While
//! the file is truncated, nothing is sent (`past.rs`).

mod ages;
mod batch;
mod block;
mod config;
mod data;
mod failures;
mod fill;
mod flush;
mod ids;
mod late_io;
mod past;
mod promise;
mod ranges;
mod read;
mod reader;
mod reader_window;
mod series;
mod table;
#[cfg(test)]
mod tests;
mod write;
mod writer;

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use crate::{Caching, Handle, Sizes};
use config::Config;
pub(crate) use data::FileData;
use ids::FileId;
pub(crate) use past::{HoldAll, Passing};
pub(crate) use promise::Promise;
use table::BlockTable;

/// The data of all files of a mount.
#[derive(Debug)]
pub(crate) struct BlockCache {
    state: Mutex<BlockTable>,
}

impl BlockCache {
    pub(crate) fn new(caching: &Caching, sizes: Sizes) -> BlockCache {
        BlockCache { state: Mutex::new(BlockTable::new(Config::new(caching, sizes))) }
    }

    /// Waits until all data dirty by now is on the server's stable storage, or was refused.
    pub(crate) async fn finish(&self) {
        let to = self.lock().newest_change;
        self.wait_for_progress(|state| {
            let file = state.first_unwritten(to)?;
            state.want_written(file, true);
            Some(file)
        })
        .await;
    }

    /// Waits until all data of a file that is dirty by now is at the server, or was refused.
    pub(crate) async fn write_back(&self, handle: &Handle) {
        let to = {
            let mut state = self.lock();
            let Some(file) = state.find_file(handle) else { return };
            state.want_written(file, false)
        };
        // A file that is gone from the cache has no dirty data.
        self.wait_for_progress(|state| state.find_file(handle).filter(|file| !state.is_written(*file, to, false)))
            .await;
    }

    /// Waits for progress of the file that `unfinished` returns, and asks again until it returns none.
    async fn wait_for_progress(&self, unfinished: impl Fn(&mut BlockTable) -> Option<FileId>) {
        loop {
            let progress = {
                let mut state = self.lock();
                let Some(file) = unfinished(&mut state) else { return };
                Arc::clone(&state.file_ref(file).late.progress).notified_owned()
            };
            progress.await;
        }
    }

    /// The length of a file including dirty data, or `None` if it has none.
    pub(crate) fn unwritten_size(&self, handle: &Handle) -> Option<u64> {
        let state = self.lock();
        let file = state.find_file(handle)?;
        (!state.is_written(file, state.newest_change, false)).then(|| state.file_ref(file).size_bytes)
    }

    fn lock(&self) -> MutexGuard<'_, BlockTable> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
