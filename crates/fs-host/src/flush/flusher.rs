//! Flushes files, and remembers what that cost and which flushes failed.

use std::os::fd::BorrowedFd;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use rustix::io::Result;

use super::costs::Costs;
use super::counters::FlushCounters;
use super::disk::Storage;
use super::failures::{Failures, FileId, OpenFileId};
use super::file::Flush;
use super::losses::Losses;
use crate::attributes::stat_fd;

/// The storage of an export, with what is known of it.
pub(super) struct Flusher {
    pub(super) storage: Box<dyn Storage>,
    pub(super) counters: Arc<FlushCounters>,
    pub(super) failures: Failures,
    costs: Mutex<Costs>,
}

impl Flusher {
    pub(super) fn new(storage: Box<dyn Storage>, counters: Arc<FlushCounters>, losses: Losses) -> Flusher {
        Flusher { storage, counters, failures: Failures::new(losses), costs: Mutex::default() }
    }

    /// Flushes these files one by one.
    pub(super) fn flush_files(&self, files: &[Flush<'_>]) -> Result<()> {
        files.iter().try_for_each(|&file| self.flush_file(file))
    }

    pub(super) fn flush_file(&self, file: Flush<'_>) -> Result<()> {
        self.counters.note_flush();
        self.watch(file, |fd| self.storage.flush(fd, file.depth))
    }

    /// The error of writing a file back that this descriptor has not been told of.
    pub(super) fn ask_for_error(&self, file: Flush<'_>) -> Result<()> {
        self.watch(file, |fd| self.storage.pending_error(fd))
    }

    /// Runs a flush of a file, whose failure is remembered.
    fn watch(&self, file: Flush<'_>, flush: impl FnOnce(BorrowedFd<'_>) -> Result<()>) -> Result<()> {
        let flush = || flush(file.fd).inspect_err(|_| self.note_loss(file));
        match file.of {
            Some(of) => self.failures.watch(of, flush),
            None => flush(),
        }
    }

    fn note_loss(&self, Flush { fd, of, .. }: Flush<'_>) {
        match of.map(OpenFileId::file).or_else(|| stat_fd(fd).ok().map(|stat| FileId::of(&stat))) {
            Some(file) => self.lose(file, fd),
            None => self.failures.note(None),
        }
    }

    /// Evicts the pages of a file, some of which could not be written, and notes the loss.
    pub(super) fn lose(&self, file: FileId, fd: BorrowedFd<'_>) {
        self.failures.lose(file, || self.storage.evict_lost(fd));
    }

    pub(super) fn flush_all(&self) -> Result<()> {
        self.counters.note_flush();
        self.storage.flush_all().inspect_err(|_| self.failures.note(None))
    }

    pub(super) fn lock_costs(&self) -> MutexGuard<'_, Costs> {
        self.costs.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
