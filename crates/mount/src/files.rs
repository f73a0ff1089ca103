//! Open files, by the numbers that the kernel has for them.

use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex};

use rustix::io::Errno;
use vfs::{Context, Handle, LockOwner, OpenFile};

use crate::callers::Identity;
use crate::sync::hold;

/// An open file.
pub(crate) struct Opened {
    pub(crate) file: Arc<dyn OpenFile>,
    pub(crate) handle: Handle,
    /// Who opened it: reads and writes are that one's, whoever has the descriptor by now.
    pub(crate) identity: Identity,
    /// Whether anything was written since it was last brought to the storage.
    is_dirty: AtomicBool,
    /// Whether a lock of `fcntl` was ever asked for by it.
    has_locked: AtomicBool,
}

impl Opened {
    pub(crate) fn new(file: Arc<dyn OpenFile>, handle: Handle, identity: Identity) -> Opened {
        let no = || AtomicBool::new(false);
        Opened { file, handle, identity, is_dirty: no(), has_locked: no() }
    }

    /// What goes with a call on this file.
    pub(crate) fn context(&self, worker: usize) -> Context<'_> {
        Context { caller: self.identity.caller(), worker, ..Context::ROOT }
    }

    pub(crate) fn note_written(&self) {
        self.is_dirty.store(true, Ordering::Release);
    }

    /// Brings what was written to the storage, if anything was.
    ///
    /// # Errors
    /// The file system's.
    pub(crate) fn flush(&self, worker: usize) -> vfs::Result<()> {
        if self.is_dirty.swap(false, Ordering::AcqRel) { self.file.sync(&self.context(worker)) } else { Ok(()) }
    }
}

/// All open files of a mount.
#[derive(Default)]
pub(crate) struct Files {
    open: Mutex<HashMap<u64, Arc<Opened>>>,
    last: AtomicU64,
    /// Who has locks of `fcntl` on which file, and the open file by which he asked last. A process loses them all when it closes the file by any
    /// descriptor (POSIX.1-2017, `fcntl`); those of an open file itself (`F_OFD_SETLK`) go with it, of which the kernel says nothing more.
    lockers: Mutex<HashMap<(Handle, LockOwner), u64>>,
}

impl Files {
    /// Keeps an open file, and gives its number.
    pub(crate) fn insert(&self, file: Opened) -> u64 {
        let number = self.last.fetch_add(1, Ordering::Relaxed) + 1;
        hold(&self.open).insert(number, Arc::new(file));
        number
    }

    /// # Errors
    /// EBADF for a number that no open file has.
    pub(crate) fn get(&self, number: u64) -> Result<Arc<Opened>, Errno> {
        hold(&self.open).get(&number).cloned().ok_or(Errno::BADF)
    }

    pub(crate) fn remove(&self, number: u64) -> Option<Arc<Opened>> {
        hold(&self.open).remove(&number)
    }

    pub(crate) fn note_locker(&self, number: u64, opened: &Opened, owner: LockOwner) {
        opened.has_locked.store(true, Ordering::Release);
        hold(&self.lockers).insert((opened.handle, owner), number);
    }

    /// Whether this one has locks of the file; from now on not.
    pub(crate) fn take_locker(&self, handle: Handle, owner: LockOwner) -> bool {
        hold(&self.lockers).remove(&(handle, owner)).is_some()
    }

    /// Who has locks by an open file that is closed for good; from now on nobody. Processes have given theirs up before.
    pub(crate) fn take_lockers_by(&self, number: u64, opened: &Opened) -> Vec<LockOwner> {
        if !opened.has_locked.load(Ordering::Acquire) {
            return Vec::new();
        }
        hold(&self.lockers).extract_if(|_, by| *by == number).map(|((_, owner), _)| owner).collect()
    }
}
