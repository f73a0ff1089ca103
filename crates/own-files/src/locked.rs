//! A lock that ends with its holder.

use std::io;
use std::ops::Deref;
use std::os::fd::{AsFd, BorrowedFd};

use rustix::fs::{FlockOperation, flock};

/// An open file or directory that is locked (flock(2)) until this is dropped.
///
/// Closing the file would not end the lock while a forked child has a copy of the descriptor and has not yet called
/// execve(2). So this unlocks explicitly.
#[derive(Debug)]
pub struct Locked<F: AsFd>(F);

impl<F: AsFd> Locked<F> {
    /// Locks a file for this process alone. It does not wait.
    ///
    /// # Errors
    /// [`io::ErrorKind::WouldBlock`] when another process has a lock, and what the system says.
    pub fn exclusive(file: F) -> io::Result<Locked<F>> {
        Locked::lock(file, FlockOperation::NonBlockingLockExclusive)
    }

    /// Locks a file against those who lock it exclusively. It does not wait.
    ///
    /// # Errors
    /// [`io::ErrorKind::WouldBlock`] when another process has an exclusive lock, and what the system says.
    pub fn shared(file: F) -> io::Result<Locked<F>> {
        Locked::lock(file, FlockOperation::NonBlockingLockShared)
    }

    fn lock(file: F, operation: FlockOperation) -> io::Result<Locked<F>> {
        flock(&file, operation)?;
        Ok(Locked(file))
    }
}

impl<F: AsFd> Deref for Locked<F> {
    type Target = F;

    fn deref(&self) -> &F {
        &self.0
    }
}

impl<F: AsFd> AsFd for Locked<F> {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.0.as_fd()
    }
}

impl<F: AsFd> Drop for Locked<F> {
    fn drop(&mut self) {
        // Closing the file is the next best thing.
        let _ = flock(&self.0, FlockOperation::Unlock);
    }
}
