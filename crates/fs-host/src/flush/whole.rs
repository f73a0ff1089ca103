//! Flushes of a whole file system.

use std::ffi::CStr;
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, Ordering};

use rustix::fs::{FileType, Mode, OFlags, RawDir, ResolveFlags, StatVfsMountFlags};
use rustix::io::{Errno, Result};

/// How many entries of directories are looked at for a regular file, and how many levels down.
const MAX_ENTRIES: usize = 1000;
const MAX_LEVELS: usize = 16;

const BUFFER_BYTES: usize = 4096;

/// A file system that is flushed as a whole.
#[derive(Debug)]
pub(crate) struct WholeFlush {
    /// A directory, opened for this alone: the kernel reports an error to each descriptor once.
    root: OwnedFd,
    doubt: SyncDoubt,
    /// Whether the file system was seen to be writable, so that it may have changes.
    was_writable: AtomicBool,
    /// A file without a name, which makes up for what `syncfs(2)` does not do.
    unnamed: OnceLock<OwnedFd>,
    /// Whether that file has a byte, or is about to get one.
    has_size: AtomicBool,
}

/// What `syncfs(2)` does not do.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum SyncDoubt {
    Nothing,
    /// It may leave data in the disk's write cache.
    ///
    /// That of XFS writes data and then the journal, and only a write of the journal flushes the cache. When another
    /// thread has written the journal just before, nothing of it is left to write. `fdatasync(2)` of any regular file
    /// flushes the cache in every case.
    MayLeaveCached,
    /// It may not report that the journal could not be written, and neither may `fsync(2)`.
    ///
    /// When the kernel's own thread has failed to write the journal of an ext4, and nothing was changed since, there is
    /// no transaction whose error they could return, and the file system becomes read-only at its next change.
    MayHideFailure,
}

impl WholeFlush {
    /// Takes a directory that nobody else uses.
    pub(crate) fn new(root: OwnedFd, doubt: SyncDoubt) -> WholeFlush {
        let was_writable = AtomicBool::new(is_read_only(&root) == Ok(false));
        WholeFlush { root, doubt, was_writable, unnamed: OnceLock::new(), has_size: AtomicBool::new(false) }
    }

    /// Brings all changes of the file system to stable storage.
    ///
    /// # Errors
    /// What the kernel reports; `ROFS` if the file system has become read-only; `OPNOTSUPP` if the disk's write cache
    /// may hold data and cannot be flushed.
    pub(crate) fn flush(&self) -> Result<()> {
        self.flush_by(self.root.as_fd())?;
        if self.doubt == SyncDoubt::MayLeaveCached { self.flush_cache() } else { Ok(()) }
    }

    /// The same by the descriptor of a file, which gets the errors that it was not told of yet.
    ///
    /// `syncfs(2)` writes nothing, and returns no error, once the file system is read-only. Some become so when they
    /// cannot write: btrfs reports the failed commit to one call only.
    pub(crate) fn flush_by(&self, file: BorrowedFd<'_>) -> Result<()> {
        rustix::fs::syncfs(file)?;
        self.check_journal()?;
        match is_read_only(&self.root)? {
            true if self.was_writable.load(Ordering::Relaxed) => Err(Errno::ROFS),
            true => Ok(()),
            false => {
                self.was_writable.store(true, Ordering::Relaxed);
                Ok(())
            }
        }
    }

    /// Makes a change that fails when the journal has failed.
    ///
    /// # Errors
    /// `ROFS` or `IO` then.
    pub(crate) fn check_journal(&self) -> Result<()> {
        if self.doubt != SyncDoubt::MayHideFailure || !self.was_writable.load(Ordering::Relaxed) {
            return Ok(());
        }
        match self.unnamed() {
            // Whoever the thread acts as may do this, and a new size is a change in any case.
            Ok(file) => rustix::fs::ftruncate(file, u64::from(!self.has_size.fetch_not(Ordering::Relaxed))),
            Err(error @ (Errno::ROFS | Errno::IO)) => Err(error),
            // The directory cannot be written, or there is no room.
            Err(_) => Ok(()),
        }
    }

    fn unnamed(&self) -> Result<&OwnedFd> {
        if let Some(file) = self.unnamed.get() {
            return Ok(file);
        }
        let file = unnamed_file(&self.root)?;
        // Another thread may have been first.
        Ok(self.unnamed.get_or_init(|| file))
    }

    fn flush_cache(&self) -> Result<()> {
        match self.unnamed() {
            Ok(file) => rustix::fs::fdatasync(file),
            // The directory cannot be written, or there is no room.
            Err(_) => {
                let mut entries_left = MAX_ENTRIES;
                let file = some_file(self.root.as_fd(), MAX_LEVELS, &mut entries_left).ok_or(Errno::OPNOTSUPP)?;
                rustix::fs::fdatasync(file)
            }
        }
    }
}

/// Whether the file system, or the mount that its directory was reached by, is read-only now.
pub(crate) fn is_read_only(dir: &OwnedFd) -> Result<bool> {
    Ok(rustix::fs::fstatvfs(dir)?.f_flag.contains(StatVfsMountFlags::RDONLY))
}

fn unnamed_file(dir: &OwnedFd) -> Result<OwnedFd> {
    rustix::fs::openat(dir, c".", OFlags::TMPFILE | OFlags::WRONLY | OFlags::CLOEXEC, Mode::RUSR | Mode::WUSR)
}

/// Opens any regular file of the same file system at most so many levels below a directory.
fn some_file(dir: BorrowedFd<'_>, levels: usize, entries_left: &mut usize) -> Option<OwnedFd> {
    let levels = levels.checked_sub(1)?;
    // A descriptor of its own: it has a position.
    let dir = open_inside(dir, c".", OFlags::DIRECTORY)?;
    let mut buffer = [MaybeUninit::uninit(); BUFFER_BYTES];
    let mut entries = RawDir::new(&dir, &mut buffer);
    while let Some(Ok(entry)) = entries.next() {
        *entries_left = entries_left.checked_sub(1)?;
        let found = match entry.file_type() {
            FileType::RegularFile => open_inside(dir.as_fd(), entry.file_name(), OFlags::NONBLOCK),
            FileType::Directory if !matches!(entry.file_name().to_bytes(), b"." | b"..") => {
                let inside = open_inside(dir.as_fd(), entry.file_name(), OFlags::DIRECTORY);
                inside.and_then(|inside| some_file(inside.as_fd(), levels, entries_left))
            }
            _ => None,
        };
        if found.is_some() {
            return found;
        }
    }
    None
}

fn open_inside(dir: BorrowedFd<'_>, name: &CStr, flags: OFlags) -> Option<OwnedFd> {
    let flags = flags | OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    rustix::fs::openat2(dir, name, flags, Mode::empty(), ResolveFlags::NO_XDEV).ok()
}

#[cfg(test)]
mod tests {
    use testing::Scratch;

    use super::*;

    #[test]
    fn regular_file_is_found_where_no_file_can_be_made() {
        let scratch = Scratch::new();
        let (top, bottom) = (scratch.dir("top"), scratch.dir("top/a/b"));
        let open = || rustix::fs::open(&top, OFlags::RDONLY | OFlags::DIRECTORY, Mode::empty()).unwrap();
        let find = |levels: usize, mut entries: usize| some_file(open().as_fd(), levels, &mut entries).is_some();
        assert!(!find(3, 100));
        std::fs::write(bottom.join("file"), "text").unwrap();
        assert!(find(3, 100));
        assert!(!find(2, 100) && !find(3, 2), "the look is bounded");
    }
}
