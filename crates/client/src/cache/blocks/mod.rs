//! The data of files in memory: what was read, what will be read, and what was written and is not at the server yet.
//!
//! All files of a mount share one bound of memory, and all opens of a file share its data. What happens to the blocks is
//! decided without sockets and tasks, in `state`, `read`, `write` and `flush`; the tasks here carry it out. Blocks are filled and
//! written by tasks, never by the caller's future, so that a caller who goes away leaves nothing half done.
//!
//! The clean data of a file is of one version of it, as its attributes tell; when they tell of another one that own writes do not
//! explain, it is forgotten. Own changes stay, and go over those of others.

mod block;
mod config;
mod data;
mod failures;
mod fill;
mod flush;
mod lens;
mod past;
mod promise;
mod ranges;
mod read;
mod series;
mod state;
#[cfg(test)]
mod tests;
mod write;
mod writer;

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use crate::{Caching, Handle, Sizes};
use config::Config;
pub(crate) use data::FileData;
pub(crate) use past::{HoldAll, Passing};
pub(crate) use promise::Promise;
use state::State;

/// The data of all files of a mount.
#[derive(Debug)]
pub(crate) struct BlockCache {
    state: Mutex<State>,
}

impl BlockCache {
    pub(crate) fn new(caching: &Caching, sizes: Sizes) -> BlockCache {
        BlockCache { state: Mutex::new(State::new(Config::new(caching, sizes))) }
    }

    /// Waits until everything that is changed by now is on the server's stable storage, or was refused.
    pub(crate) async fn finish(&self) {
        let to = self.lock().newest_change;
        self.wait_for_progress(|state| {
            let file = state.first_unwritten(to)?;
            state.want_written(file, true);
            Some(file)
        })
        .await;
    }

    /// Waits until everything of a file that is changed by now is at the server, or was refused.
    pub(crate) async fn write_back(&self, handle: &Handle) {
        let to = {
            let mut state = self.lock();
            let Some(file) = state.find_file(handle) else { return };
            state.want_written(file, false)
        };
        // A file that is forgotten meanwhile has no changes.
        self.wait_for_progress(|state| state.find_file(handle).filter(|file| !state.is_written(*file, to, false)))
            .await;
    }

    /// Waits for the progress of the file that `unfinished` names, and again of the next one, until it names none.
    async fn wait_for_progress(&self, unfinished: impl Fn(&mut State) -> Option<u32>) {
        loop {
            let progress = {
                let mut state = self.lock();
                let Some(file) = unfinished(&mut state) else { return };
                Arc::clone(&state.file_ref(file).late.progress).notified_owned()
            };
            progress.await;
        }
    }

    /// How long a file is with the changes that are not at the server, if there are any.
    pub(crate) fn unwritten_size(&self, handle: &Handle) -> Option<u64> {
        let state = self.lock();
        let file = state.find_file(handle)?;
        (!state.is_written(file, state.newest_change, false)).then(|| state.file_ref(file).size)
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
