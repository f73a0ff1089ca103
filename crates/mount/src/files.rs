//! Open files, by the file handles that the kernel uses.

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
    /// The opener: reads and writes use this identity, whoever has the descriptor by now.
    pub(crate) identity: Identity,
    /// Whether anything was written since the last sync.
    is_dirty: AtomicBool,
    /// Whether a `fcntl` lock was ever requested through it.
    has_locked: AtomicBool,
}

impl Opened {
    pub(crate) fn new(file: Arc<dyn OpenFile>, handle: Handle, identity: Identity) -> Opened {
        let no = || AtomicBool::new(false);
        Opened { file, handle, identity, is_dirty: no(), has_locked: no() }
    }

    /// The context for a call on this file.
    pub(crate) fn context(&self, worker: usize) -> Context<'_> {
        Context { caller: self.identity.caller(), worker, ..Context::ROOT }
    }

    pub(crate) fn note_written(&self) {
        self.is_dirty.store(true, Ordering::Release);
    }

    /// Syncs the file if it is dirty.
    ///
    /// # Errors
    /// The error of the file system.
    pub(crate) fn flush(&self, worker: usize) -> vfs::Result<()> {
        if self.is_dirty.swap(false, Ordering::AcqRel) { self.file.sync(&self.context(worker)) } else { Ok(()) }
    }
}

/// All open files of a mount.
#[derive(Default)]
pub(crate) struct Files {
    open: Mutex<HashMap<u64, Arc<Opened>>>,
    last: AtomicU64,
    /// The owners of `fcntl` locks per file, and the open file they used last. A process loses all its locks when it
    /// closes the file by any descriptor (POSIX.1-2017, `fcntl`). Locks of an open file itself (`F_OFD_SETLK`) end with
    /// it, and the kernel does not unlock them.
    lockers: Mutex<HashMap<(Handle, LockOwner), u64>>,
}

impl Files {
    /// Adds an open file, and returns its number.
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

    /// Whether this owner has locks of the file; removes the owner.
    pub(crate) fn take_locker(&self, handle: Handle, owner: LockOwner) -> bool {
        hold(&self.lockers).remove(&(handle, owner)).is_some()
    }

    /// The owners of locks of an open file whose last descriptor is closed; removes them. Processes have released
    /// theirs before.
    pub(crate) fn take_lockers_by(&self, number: u64, opened: &Opened) -> Vec<LockOwner> {
        if !opened.has_locked.load(Ordering::Acquire) {
            return Vec::new();
        }
        hold(&self.lockers).extract_if(|_, by| *by == number).map(|((_, owner), _)| owner).collect()
    }
}
