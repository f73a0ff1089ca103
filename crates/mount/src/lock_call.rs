//! Takes, tests and releases locks at the file system, or on this mount only where the options say so.
//!
//! A local lock does to caches what one of the file system does, as with the kernel's own NFS client: what the caller
//! wrote is sent before, and what others wrote is fetched after. An unlock sends what the holder wrote.

use std::ops::RangeInclusive;

use vfs::{FileLock, LockOutcome, LockOwner, OpenMode};

use crate::files::Opened;
use crate::local_locks::{LocalLock, LockCall};
use crate::session::Session;

/// The worker number for lock calls: that of the first worker. Sharing it costs a file system with per-worker caches
/// only time.
const WORKER: usize = 0;

impl Session {
    fn is_local(&self, call: LockCall) -> bool {
        let passes = match call {
            LockCall::Fcntl => self.options.passes_locks,
            LockCall::Flock => self.options.passes_flocks,
        };
        !(passes && self.properties.locks)
    }

    /// Requests a lock. Returns the conflicting lock if there is one.
    ///
    /// # Errors
    /// Those of the file system.
    pub(crate) fn lock(&self, opened: &Opened, call: LockCall, wanted: LocalLock) -> vfs::Result<LockOutcome> {
        let cx = opened.context(WORKER);
        if !self.is_local(call) {
            return opened.file.lock(&cx, wanted.owner, wanted.lock);
        }
        opened.file.sync(&cx)?;
        if let Some(held) = self.local_locks.take(opened.handle, call, wanted) {
            return Ok(LockOutcome::Taken(held.lock));
        }
        // An open revalidates what is cached of the file. The lock is held even if that fails: reads fail then, too.
        if let Err(error) = self.fs.open(&cx, &opened.handle, OpenMode::Read) {
            tracing::debug!(%error, "cannot revalidate a file that was locked");
        }
        Ok(LockOutcome::Free)
    }

    /// The lock that conflicts with a wanted one, and the process that holds it, or 0 if that is unknown.
    ///
    /// # Errors
    /// Those of the file system.
    pub(crate) fn test_lock(
        &self,
        opened: &Opened,
        call: LockCall,
        wanted: LocalLock,
    ) -> vfs::Result<Option<(FileLock, u32)>> {
        if self.is_local(call) {
            let held = self.local_locks.conflict(opened.handle, call, &wanted);
            return Ok(held.map(|held| (held.lock, held.pid)));
        }
        match opened.file.test_lock(&opened.context(WORKER), wanted.owner, wanted.lock)? {
            LockOutcome::Free => Ok(None),
            LockOutcome::Taken(lock) => Ok(Some((lock, 0))),
        }
    }

    /// Releases an owner's locks within a range, and retries requests that wait for one.
    ///
    /// # Errors
    /// Those of the file system.
    pub(crate) fn unlock(
        &self,
        opened: &Opened,
        call: LockCall,
        owner: LockOwner,
        range_bytes: RangeInclusive<u64>,
    ) -> vfs::Result<()> {
        let cx = opened.context(WORKER);
        let unlocked = if self.is_local(call) {
            let sent = opened.file.sync(&cx);
            self.local_locks.release(opened.handle, call, owner, range_bytes);
            sent
        } else {
            opened.file.unlock(&cx, owner, range_bytes)
        };
        self.lock_waits.hurry();
        unlocked
    }
}
