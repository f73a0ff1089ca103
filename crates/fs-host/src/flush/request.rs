//! What a caller leaves who waits for storage.

use std::os::fd::OwnedFd;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};

use rustix::io::{Errno, Result};

use super::batch::FlushBatch;
use super::{Depth, Flush};

/// The files that one caller wants flushed, and how that stands.
pub(super) struct FlushRequest {
    files: Vec<OwnedFlush>,
    state: Mutex<RequestState>,
    changed: Condvar,
}

/// A descriptor of the request's own, since the leader is another thread.
pub(super) struct OwnedFlush {
    pub(super) fd: OwnedFd,
    pub(super) depth: Depth,
    /// The file's device and number.
    pub(super) identity: (u64, u64),
}

/// Where a caller stands.
#[derive(Clone)]
pub(super) enum RequestState {
    /// Queued.
    Waits,
    /// First in the queue while nobody flushes: it is to flush what has gathered.
    Leads,
    /// Its leader wants help with the files of their group.
    Helps(Arc<FlushBatch>),
    /// A leader has flushed its files.
    Ended(Result<()>),
}

impl FlushRequest {
    pub(super) fn new(files: &[Flush<'_>]) -> Result<FlushRequest> {
        let files = files.iter().map(OwnedFlush::of).collect::<Result<_>>()?;
        Ok(FlushRequest { files, state: Mutex::new(RequestState::Waits), changed: Condvar::new() })
    }

    pub(super) fn files(&self) -> &[OwnedFlush] {
        &self.files
    }

    /// Waits until there is something to do or it is done.
    pub(super) fn wait(&self) -> RequestState {
        let state = self.changed.wait_while(self.lock(), |state| matches!(state, RequestState::Waits));
        state.unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Waits until its files are flushed, and says how that ended.
    pub(super) fn wait_for_end(&self) -> Result<()> {
        let mut state = self.lock();
        loop {
            if let RequestState::Ended(result) = *state {
                return result;
            }
            state = self.changed.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
    }

    /// Makes the caller the leader.
    pub(super) fn lead(&self) {
        self.set(RequestState::Leads);
    }

    /// Asks the caller to flush files of this batch, unless others have ended it meanwhile.
    pub(super) fn help(&self, batch: Arc<FlushBatch>) {
        let mut state = self.lock();
        if matches!(*state, RequestState::Waits) {
            *state = RequestState::Helps(batch);
            self.changed.notify_one();
        }
    }

    /// Says how the flush ended.
    pub(super) fn end(&self, result: Result<()>) {
        self.set(RequestState::Ended(result));
    }

    fn set(&self, state: RequestState) {
        *self.lock() = state;
        self.changed.notify_one();
    }

    fn lock(&self) -> MutexGuard<'_, RequestState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl OwnedFlush {
    fn of(file: &Flush<'_>) -> Result<OwnedFlush> {
        let stat = rustix::fs::fstat(file.fd)?;
        let fd = file.fd.try_clone_to_owned().map_err(|error| Errno::from_io_error(&error).unwrap_or(Errno::MFILE))?;
        Ok(OwnedFlush { fd, depth: file.depth, identity: (stat.st_dev, stat.st_ino) })
    }
}
