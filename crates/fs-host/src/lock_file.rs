//! Byte-range locks that local processes see: locks of an open file description (fcntl(2), `F_OFD_SETLK`).
//!
//! Locks of a process would not do: closing any descriptor of the file would give them up. The description is one of
//! its own for each file, so that dropping it gives up the locks and nothing else does.

use std::cmp::min;
use std::io;
use std::ops::RangeInclusive;
use std::os::fd::{AsFd, OwnedFd};
use std::sync::Arc;

use rustix::fs::OFlags;
use vfs::{Context, Error, FileLock, Handle, LockFile, LockOutcome, Result};

use crate::attributes::check_regular;
use crate::host::HostFs;
use crate::identity::Impersonation;
use crate::lock_holder::{LAST_OFFSET, LockHolder, MAX_RANGES, SetLock};
use crate::node::HostNode;
use crate::sys::{self, FoundLock, LockExtent, LockKind};

impl HostFs {
    pub(crate) fn open_lock_file(&self, cx: &Context<'_>, handle: &Handle) -> Result<Box<dyn LockFile>> {
        let node = self.node(cx, handle)?;
        check_regular(node.kind())?;
        self.identity.own()?;
        // An exclusive lock needs a descriptor for writing, which there is none of where nothing can be written.
        let (fd, is_writable, later) = match self.with_room(cx, || self.reopen_as_owner(&node, OFlags::RDWR)) {
            Ok(fd) => (fd, true, None),
            Err(error) => {
                // A lease ends some time, and then the file can be opened for writing.
                let later = matches!(error, Error::TryLater(_)).then(|| (self.identity, Arc::clone(&node)));
                (self.with_room(cx, || self.reopen_as_owner(&node, OFlags::RDONLY))?, false, later)
            }
        };
        Ok(Box::new(HostLockFile { holder: LockHolder::new(fd, MAX_RANGES), is_writable, later }))
    }
}

struct HostLockFile {
    holder: LockHolder<OwnedFd>,
    is_writable: bool,
    /// The file, if it may be opened for writing later.
    later: Option<(Impersonation, Arc<HostNode>)>,
}

impl LockFile for HostLockFile {
    fn take(&mut self, lock: FileLock) -> Result<LockOutcome> {
        if lock.exclusive {
            self.open_for_writing();
        }
        let Some(lock) = self.representable(lock) else { return Ok(LockOutcome::Free) };
        if self.holder.take(lock).map_err(Error::Io)? {
            return Ok(LockOutcome::Free);
        }
        // Whoever was in the way may be gone by now; then nobody knows which range it was.
        match self.test(lock)? {
            LockOutcome::Free => Ok(LockOutcome::Taken(lock)),
            taken => Ok(taken),
        }
    }

    fn release(&mut self, ranges: &[RangeInclusive<u64>]) -> Result<()> {
        let ends = ranges.iter().map(|range| (*range.start(), min(*range.end(), LAST_OFFSET)));
        self.holder.release(ends.filter(|(first, _)| *first <= LAST_OFFSET)).map_err(Error::Io)
    }

    fn test(&self, wanted: FileLock) -> Result<LockOutcome> {
        let Some(wanted) = self.representable(wanted) else { return Ok(LockOutcome::Free) };
        let kind = if wanted.exclusive { LockKind::Exclusive } else { LockKind::Shared };
        let extent = extent(wanted.first_bytes, wanted.last_bytes);
        let found = sys::find_lock(self.holder.description().as_fd(), kind, extent).map_err(Error::Io)?;
        Ok(found.map_or(LockOutcome::Free, |FoundLock { exclusive, extent }| {
            let first_bytes = u64::try_from(extent.start_bytes).unwrap_or(0);
            let last_bytes = match u64::try_from(extent.length_bytes) {
                Ok(length @ 1..) => first_bytes + (length - 1),
                _ => u64::MAX,
            };
            LockOutcome::Taken(FileLock { first_bytes, last_bytes, exclusive })
        }))
    }
}

impl HostLockFile {
    /// Opens the file for writing if it could not be opened so before.
    fn open_for_writing(&mut self) {
        let Some((identity, node)) = &self.later else { return };
        let opened = identity.own().and_then(|()| node.reopen(OFlags::RDWR));
        // What is held so far is shared, and so it can be held by two descriptions at once.
        if opened.is_ok_and(|fd| matches!(self.holder.move_to(fd), Ok(true))) {
            (self.is_writable, self.later) = (true, None);
        }
    }

    /// The lock as the kernel can hold it: bytes past its last offset cannot be locked by anybody here.
    fn representable(&self, lock: FileLock) -> Option<FileLock> {
        let last_bytes = min(lock.last_bytes, LAST_OFFSET);
        let exclusive = lock.exclusive && self.is_writable;
        (lock.first_bytes <= last_bytes).then_some(FileLock { last_bytes, exclusive, ..lock })
    }
}

impl SetLock for OwnedFd {
    fn set_lock(&self, kind: LockKind, first: u64, last: u64) -> io::Result<bool> {
        sys::set_lock(self.as_fd(), kind, extent(first, last))
    }
}

/// The bytes from `first` to `last`.
fn extent(first: u64, last: u64) -> LockExtent {
    let length = if last == LAST_OFFSET { 0 } else { last - first + 1 };
    LockExtent { start_bytes: first as i64, length_bytes: length as i64 }
}
