//! What a caller leaves who waits for storage.

use std::os::fd::OwnedFd;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Instant;

use rustix::io::{Errno, Result};

use super::batch::BatchShare;
use super::failures::OpenFileId;
use super::file::{Depth, Flush};

/// The files that one caller wants flushed, and how that stands.
pub(super) struct FlushRequest {
    files: Vec<OwnedFlush>,
    progress: Mutex<FlushProgress>,
    changed: Condvar,
}

/// A descriptor of the request's own, since the leader is another thread.
pub(super) struct OwnedFlush {
    pub(super) fd: OwnedFd,
    pub(super) depth: Depth,
    pub(super) of: Option<OpenFileId>,
    /// The file's device and number.
    pub(super) identity: (u64, u64),
    /// Whether this very descriptor was flushed, so that the kernel has reported errors to it.
    pub(super) is_asked: AtomicBool,
}

struct FlushProgress {
    state: RequestState,
    /// How many files are not flushed yet, and how those ended that are.
    left: usize,
    result: Result<()>,
}

/// Where a caller stands.
#[derive(Clone)]
pub(super) enum RequestState {
    /// Queued, or others flush its files.
    Waits,
    /// First in the queue while nobody flushes: it is to flush what has gathered.
    Leads,
    /// Its leader wants it to flush files of its own.
    Helps(BatchShare),
    /// Its files are flushed.
    Ended(Result<()>),
    /// It has waited for the longest time, and flushes by itself.
    Left,
}

impl FlushRequest {
    pub(super) fn new(files: &[Flush<'_>]) -> Result<FlushRequest> {
        let files = files.iter().map(OwnedFlush::of).collect::<Result<Vec<_>>>()?;
        let progress = FlushProgress { state: RequestState::Waits, left: files.len(), result: Ok(()) };
        Ok(FlushRequest { files, progress: Mutex::new(progress), changed: Condvar::new() })
    }

    pub(super) fn files(&self) -> &[OwnedFlush] {
        &self.files
    }

    /// Waits until there is something to do or it is done, at most until the deadline. What there is to do is given
    /// out once; then the caller waits again.
    pub(super) fn wait(&self, deadline: Instant) -> RequestState {
        let left = deadline.saturating_duration_since(Instant::now());
        let waits = |progress: &mut FlushProgress| matches!(progress.state, RequestState::Waits);
        let waited = self.changed.wait_timeout_while(self.lock(), left, waits);
        let (mut progress, _) = waited.unwrap_or_else(PoisonError::into_inner);
        match progress.state {
            RequestState::Leads | RequestState::Helps(_) => std::mem::replace(&mut progress.state, RequestState::Waits),
            RequestState::Waits | RequestState::Ended(_) | RequestState::Left => progress.state.clone(),
        }
    }

    /// Stops waiting, unless something happened meanwhile.
    pub(super) fn leave(&self) -> bool {
        self.replace_waits(RequestState::Left)
    }

    /// Makes the caller the leader.
    pub(super) fn lead(&self) {
        self.replace_waits(RequestState::Leads);
    }

    /// Asks the caller to flush its files of a batch, unless others have, or it has stopped waiting.
    pub(super) fn help(&self, share: BatchShare) -> bool {
        self.replace_waits(RequestState::Helps(share)) || matches!(self.lock().state, RequestState::Helps(_))
    }

    /// Says how the flush of one of its files ended.
    pub(super) fn end_file(&self, result: Result<()>) {
        let mut progress = self.lock();
        progress.left -= 1;
        progress.result = progress.result.and(result);
        if progress.left == 0 && !matches!(progress.state, RequestState::Left) {
            progress.state = RequestState::Ended(progress.result);
            self.changed.notify_one();
        }
    }

    /// The error of a file that was flushed by another descriptor: the kernel reports an error of writing a file back
    /// once to each open file.
    pub(super) fn unreported(&self, ask: impl Fn(&OwnedFlush) -> Result<()>) -> Result<()> {
        self.files.iter().filter(|file| !file.is_asked.load(Ordering::Relaxed)).try_for_each(ask)
    }

    fn replace_waits(&self, state: RequestState) -> bool {
        let mut progress = self.lock();
        let waits = matches!(progress.state, RequestState::Waits);
        if waits {
            progress.state = state;
            self.changed.notify_one();
        }
        waits
    }

    fn lock(&self) -> MutexGuard<'_, FlushProgress> {
        self.progress.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl OwnedFlush {
    fn of(file: &Flush<'_>) -> Result<OwnedFlush> {
        let stat = rustix::fs::fstat(file.fd)?;
        let fd = file.fd.try_clone_to_owned().map_err(|error| Errno::from_io_error(&error).unwrap_or(Errno::MFILE))?;
        Ok(OwnedFlush {
            fd,
            depth: file.depth,
            of: file.of,
            identity: (stat.st_dev, stat.st_ino),
            is_asked: AtomicBool::new(false),
        })
    }
}
