//! Flushes files, and remembers what that cost and which flushes failed.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use rustix::io::Result;

use super::costs::Costs;
use super::counters::FlushCounters;
use super::disk::Storage;
use super::failures::{Failures, OpenFileId};
use super::file::Flush;

/// The storage of an export, with what is known of it.
pub(super) struct Flusher {
    pub(super) storage: Box<dyn Storage>,
    pub(super) counters: Arc<FlushCounters>,
    pub(super) failures: Failures,
    costs: Mutex<Costs>,
}

impl Flusher {
    pub(super) fn new(storage: Box<dyn Storage>, counters: Arc<FlushCounters>) -> Flusher {
        Flusher { storage, counters, failures: Failures::default(), costs: Mutex::default() }
    }

    /// Flushes these files one by one.
    pub(super) fn flush_files(&self, files: &[Flush<'_>]) -> Result<()> {
        files.iter().try_for_each(|&file| self.flush_file(file))
    }

    pub(super) fn flush_file(&self, Flush { fd, depth, of }: Flush<'_>) -> Result<()> {
        self.counters.note_flush();
        self.watch(of, || self.storage.flush(fd, depth))
    }

    /// Runs a flush of an open file, whose failure is remembered.
    pub(super) fn watch(&self, of: Option<OpenFileId>, flush: impl FnOnce() -> Result<()>) -> Result<()> {
        match of {
            Some(of) => self.failures.watch(of, flush, |_| true),
            None => flush(),
        }
    }

    pub(super) fn flush_all(&self) -> Result<()> {
        self.counters.note_flush();
        self.storage.flush_all()
    }

    pub(super) fn lock_costs(&self) -> MutexGuard<'_, Costs> {
        self.costs.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
