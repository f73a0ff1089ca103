//! Byte-range locks that local processes see: locks of an open file description (fcntl(2), `F_OFD_SETLK`).
//!
//! Locks of a process would not do: closing any descriptor of the file would give them up. The description is one of its
//! own for each file, so that dropping it gives up the locks and nothing else does.

use std::cmp::{max, min};
use std::os::fd::{AsFd, OwnedFd};

use rustix::fs::OFlags;
use vfs::{Context, FileLock, Handle, LockFile, LockOutcome, Result};

use crate::file::check_regular;
use crate::host::HostFs;
use crate::sys::{self, LockKind};

/// The last offset that a lock of the kernel has.
const LAST_OFFSET: u64 = i64::MAX as u64;

impl HostFs {
    pub(crate) fn open_lock_file(&self, cx: &Context<'_>, handle: &Handle) -> Result<Box<dyn LockFile>> {
        let node = self.node(cx, handle)?;
        check_regular(node.kind())?;
        self.identity.own()?;
        // An exclusive lock needs a descriptor for writing, which there is none of where nothing can be written.
        let (fd, is_writable) = match self.with_room(cx, || self.reopen_as_owner(&node, OFlags::RDWR)) {
            Ok(fd) => (fd, true),
            Err(_) => (self.with_room(cx, || self.reopen_as_owner(&node, OFlags::RDONLY))?, false),
        };
        Ok(Box::new(HostLockFile { fd, is_writable, held: Vec::new() }))
    }
}

struct HostLockFile {
    fd: OwnedFd,
    is_writable: bool,
    /// In order and without overlaps.
    held: Vec<FileLock>,
}

impl LockFile for HostLockFile {
    fn hold(&mut self, locks: &[FileLock]) -> Result<LockOutcome> {
        let locks: Vec<FileLock> = locks.iter().filter_map(|lock| self.representable(*lock)).collect();
        let gained: Vec<FileLock> = locks.iter().flat_map(|lock| self.missing(lock)).collect();
        for (at, piece) in gained.iter().enumerate() {
            let outcome = self.take(*piece);
            if outcome.as_ref().ok() != Some(&LockOutcome::Free) {
                gained[..at].iter().try_for_each(|piece| self.weaken(piece, &self.held))?;
                return outcome;
            }
        }
        let before = std::mem::replace(&mut self.held, locks);
        before.iter().try_for_each(|lock| self.weaken(lock, &self.held))?;
        Ok(LockOutcome::Free)
    }

    fn test(&self, wanted: FileLock) -> Result<LockOutcome> {
        let Some(wanted) = self.representable(wanted) else { return Ok(LockOutcome::Free) };
        let found = sys::find_lock(self.fd.as_fd(), kind(&wanted), extent(&wanted)).map_err(vfs::Error::Io)?;
        Ok(found.map_or(LockOutcome::Free, |(exclusive, start, length)| {
            let first_bytes = u64::try_from(start).unwrap_or(0);
            let last_bytes = match u64::try_from(length) {
                Ok(length @ 1..) => first_bytes + (length - 1),
                _ => u64::MAX,
            };
            LockOutcome::Taken(FileLock { first_bytes, last_bytes, exclusive })
        }))
    }
}

impl HostLockFile {
    /// The lock as the kernel can hold it: bytes past its last offset cannot be locked by anybody here.
    fn representable(&self, lock: FileLock) -> Option<FileLock> {
        let last_bytes = min(lock.last_bytes, LAST_OFFSET);
        let exclusive = lock.exclusive && self.is_writable;
        (lock.first_bytes <= last_bytes).then_some(FileLock { last_bytes, exclusive, ..lock })
    }

    /// What must be taken so that `lock` is held. A weaker lock is not set over a stronger one yet: that could not be undone.
    fn missing(&self, lock: &FileLock) -> Vec<FileLock> {
        if lock.exclusive { vec![*lock] } else { without(lock, &self.held) }
    }

    fn take(&self, lock: FileLock) -> Result<LockOutcome> {
        if sys::set_lock(self.fd.as_fd(), kind(&lock), extent(&lock)).map_err(vfs::Error::Io)? {
            return Ok(LockOutcome::Free);
        }
        // Whoever was in the way may be gone by now; then nobody knows which range it was.
        match self.test(lock)? {
            LockOutcome::Free => Ok(LockOutcome::Taken(lock)),
            taken => Ok(taken),
        }
    }

    /// Gives up what is held in the range of `region` beyond `wanted`.
    fn weaken(&self, region: &FileLock, wanted: &[FileLock]) -> Result<()> {
        for gap in without(region, wanted) {
            sys::set_lock(self.fd.as_fd(), LockKind::None, extent(&gap)).map_err(vfs::Error::Io)?;
        }
        for shared in wanted.iter().filter(|lock| !lock.exclusive) {
            let first_bytes = max(shared.first_bytes, region.first_bytes);
            let last_bytes = min(shared.last_bytes, region.last_bytes);
            if first_bytes <= last_bytes {
                let both = FileLock { first_bytes, last_bytes, exclusive: false };
                sys::set_lock(self.fd.as_fd(), LockKind::Shared, extent(&both)).map_err(vfs::Error::Io)?;
            }
        }
        Ok(())
    }
}

/// The pieces of `lock` that none of `others` covers; these are in order.
fn without(lock: &FileLock, others: &[FileLock]) -> Vec<FileLock> {
    let mut pieces = Vec::new();
    let mut from = lock.first_bytes;
    let overlaps = |other: &&FileLock| other.last_bytes >= lock.first_bytes && other.first_bytes <= lock.last_bytes;
    for other in others.iter().filter(overlaps) {
        if other.first_bytes > from {
            pieces.push(FileLock { first_bytes: from, last_bytes: other.first_bytes - 1, ..*lock });
        }
        // No overflow: an end is never past the kernel's last offset.
        from = max(from, other.last_bytes + 1);
    }
    if from <= lock.last_bytes {
        pieces.push(FileLock { first_bytes: from, ..*lock });
    }
    pieces
}

fn kind(lock: &FileLock) -> LockKind {
    if lock.exclusive { LockKind::Exclusive } else { LockKind::Shared }
}

/// Start and length as the kernel takes them; a length of 0 reaches to the last offset.
fn extent(lock: &FileLock) -> (i64, i64) {
    let length = if lock.last_bytes == LAST_OFFSET { 0 } else { lock.last_bytes - lock.first_bytes + 1 };
    (lock.first_bytes as i64, length as i64)
}
