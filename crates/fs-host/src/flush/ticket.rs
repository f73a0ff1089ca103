//! What a caller leaves who waits for storage.

use std::os::fd::OwnedFd;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};

use rustix::io::{Errno, Result};

use super::batch::Batch;
use super::{Depth, Flush};

/// The files that one caller wants flushed, and how that stands.
pub(super) struct Ticket {
    files: Vec<Owned>,
    standing: Mutex<Standing>,
    changed: Condvar,
}

/// A descriptor of the ticket's own, since the leader is another thread.
pub(super) struct Owned {
    pub(super) fd: OwnedFd,
    pub(super) depth: Depth,
    /// The file's device and number.
    pub(super) identity: (u64, u64),
}

/// Where a caller stands.
#[derive(Clone)]
pub(super) enum Standing {
    /// In line.
    Waits,
    /// First in line while nobody flushes: it is to flush what has gathered.
    Leads,
    /// Its leader wants help with the files of their group.
    Helps(Arc<Batch>),
    /// A leader has flushed its files.
    Ended(Result<()>),
}

impl Ticket {
    pub(super) fn new(files: &[Flush<'_>]) -> Result<Ticket> {
        let files = files.iter().map(Owned::of).collect::<Result<_>>()?;
        Ok(Ticket { files, standing: Mutex::new(Standing::Waits), changed: Condvar::new() })
    }

    pub(super) fn files(&self) -> &[Owned] {
        &self.files
    }

    /// Waits until there is something to do or it is done.
    pub(super) fn wait(&self) -> Standing {
        let standing = self.changed.wait_while(self.lock(), |standing| matches!(standing, Standing::Waits));
        standing.unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Waits until its files are flushed, and says how that ended.
    pub(super) fn wait_for_end(&self) -> Result<()> {
        let mut standing = self.lock();
        loop {
            if let Standing::Ended(result) = *standing {
                return result;
            }
            standing = self.changed.wait(standing).unwrap_or_else(PoisonError::into_inner);
        }
    }

    /// Makes the caller the leader.
    pub(super) fn lead(&self) {
        self.set(Standing::Leads);
    }

    /// Asks the caller to flush files of this batch, unless others have ended it meanwhile.
    pub(super) fn help(&self, batch: Arc<Batch>) {
        let mut standing = self.lock();
        if matches!(*standing, Standing::Waits) {
            *standing = Standing::Helps(batch);
            self.changed.notify_one();
        }
    }

    /// Says how the flush ended.
    pub(super) fn end(&self, result: Result<()>) {
        self.set(Standing::Ended(result));
    }

    fn set(&self, standing: Standing) {
        *self.lock() = standing;
        self.changed.notify_one();
    }

    fn lock(&self) -> MutexGuard<'_, Standing> {
        self.standing.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Owned {
    fn of(file: &Flush<'_>) -> Result<Owned> {
        let stat = rustix::fs::fstat(file.fd)?;
        let fd = file.fd.try_clone_to_owned().map_err(|error| Errno::from_io_error(&error).unwrap_or(Errno::MFILE))?;
        Ok(Owned { fd, depth: file.depth, identity: (stat.st_dev, stat.st_ino) })
    }
}
