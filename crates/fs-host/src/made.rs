//! Files that were made just now, still open: whoever makes a file mostly writes to it next, and then it need not be
//! looked up and opened again.

use std::collections::VecDeque;
use std::os::fd::{AsFd, OwnedFd};
use std::sync::{Mutex, MutexGuard, PoisonError};

use rustix::fs::Statx;
use vfs::{Handle, Result};

use crate::attributes::stat_fd;

/// How many files are kept: as many as calls that make files are in progress at once.
const MAX_FILES: usize = 64;

/// With few files at hand, one made file is kept for so many of them.
const NODES_PER_FILE: usize = 16;

/// Files that were made just now, open for reading and writing, oldest first.
#[derive(Debug)]
pub(crate) struct MadeFiles {
    files: Mutex<VecDeque<MadeFile>>,
    max_files: usize,
}

#[derive(Debug)]
struct MadeFile {
    handle: Handle,
    fd: OwnedFd,
    /// Whether the file was there already when files were last tidied up.
    is_old: bool,
}

impl MadeFiles {
    /// Makes an empty set, for a process that may have so many files at hand.
    pub(crate) fn new(max_nodes: usize) -> MadeFiles {
        MadeFiles { files: Mutex::default(), max_files: MAX_FILES.min(max_nodes / NODES_PER_FILE) }
    }

    /// Keeps a file until it is taken, for a few seconds at the most: a file that is open for writing cannot be
    /// executed on the host.
    pub(crate) fn keep(&self, handle: Handle, fd: OwnedFd) {
        if self.max_files == 0 {
            return;
        }
        let mut files = self.lock();
        let oldest = if files.len() < self.max_files { None } else { files.pop_front() };
        files.push_back(MadeFile { handle, fd, is_old: false });
        // A descriptor is closed when the lock is free again, here and below.
        drop(files);
        drop(oldest);
    }

    /// The state of a file that was kept.
    pub(crate) fn stat(&self, handle: &Handle) -> Option<Result<Statx>> {
        let files = self.lock();
        let made = files.iter().rev().find(|made| made.handle == *handle)?;
        Some(stat_fd(made.fd.as_fd()))
    }

    /// Gives a file away that was kept.
    pub(crate) fn take(&self, handle: &Handle) -> Option<OwnedFd> {
        let mut files = self.lock();
        let index = files.iter().rposition(|made| made.handle == *handle)?;
        files.remove(index).map(|made| made.fd)
    }

    /// Closes the files that were kept when this was last called.
    pub(crate) fn tidy(&self) {
        let mut files = self.lock();
        let kept = files.iter().position(|made| !made.is_old).unwrap_or(files.len());
        let closed: Vec<MadeFile> = files.drain(..kept).collect();
        files.iter_mut().for_each(|made| made.is_old = true);
        drop(files);
        drop(closed);
    }

    /// Closes all of them.
    pub(crate) fn clear(&self) {
        let closed = std::mem::take(&mut *self.lock());
        drop(closed);
    }

    fn lock(&self) -> MutexGuard<'_, VecDeque<MadeFile>> {
        self.files.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use std::fs::File;

    use super::*;

    fn file() -> OwnedFd {
        File::open("/proc/self/exe").unwrap().into()
    }

    #[test]
    fn file_is_given_away_once_and_the_oldest_makes_room() {
        let (files, number) = (MadeFiles::new(usize::MAX), Handle::from_u64);
        for index in 0..=MAX_FILES as u64 {
            files.keep(number(index), file());
        }
        assert!(files.stat(&number(0)).is_none() && files.take(&number(0)).is_none());
        assert!(files.stat(&number(1)).unwrap().is_ok() && files.take(&number(1)).is_some());
        assert!(files.stat(&number(1)).is_none() && files.take(&number(1)).is_none());
    }

    #[test]
    fn file_that_nobody_takes_is_closed_by_the_second_tidying() {
        let files = MadeFiles::new(usize::MAX);
        files.keep(Handle::from_u64(1), file());
        files.tidy();
        files.keep(Handle::from_u64(2), file());
        files.tidy();
        assert!(files.take(&Handle::from_u64(1)).is_none() && files.take(&Handle::from_u64(2)).is_some());
    }
}
