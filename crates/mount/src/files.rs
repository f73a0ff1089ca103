//! Open files, by the file handles that the kernel uses.

use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, AtomicI32, AtomicU64, Ordering};
use std::sync::{Arc, Mutex};

use rustix::io::Errno;
use vfs::{Context, Handle, LockOwner, OpenFile, OpenMode};

use crate::callers::Identity;
use crate::sync::hold;

/// An open file.
pub(crate) struct Opened {
    pub(crate) file: Arc<dyn OpenFile>,
    pub(crate) handle: Handle,
    /// The opener: reads and writes use this identity, whoever has the descriptor by now.
    pub(crate) identity: Identity,
    /// Whether it may be written, also by a mapping.
    pub(crate) is_writable: bool,
    /// Whether anything was written since the last sync.
    is_dirty: AtomicBool,
    /// The error of a late write that another open of the file was told; 0 for none.
    missed: AtomicI32,
    /// Whether a `fcntl` lock was ever requested through it.
    has_locked: AtomicBool,
}

impl Opened {
    pub(crate) fn new(file: Arc<dyn OpenFile>, handle: Handle, identity: Identity, mode: OpenMode) -> Opened {
        let no = || AtomicBool::new(false);
        let is_writable = mode == OpenMode::Write;
        Opened { file, handle, identity, is_writable, is_dirty: no(), missed: AtomicI32::new(0), has_locked: no() }
    }

    /// The context for a call on this file.
    pub(crate) fn context(&self, worker: usize) -> Context<'_> {
        Context { caller: self.identity.caller(), worker, ..Context::ROOT }
    }

    pub(crate) fn note_written(&self) {
        self.is_dirty.store(true, Ordering::Release);
    }

    /// Fails, once, if a late write failed and only another open of the file was told.
    ///
    /// # Errors
    /// The error of the write.
    pub(crate) fn check_missed(&self) -> Result<(), Errno> {
        match self.missed.swap(0, Ordering::AcqRel) {
            0 => Ok(()),
            number => Err(Errno::from_raw_os_error(number)),
        }
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

    /// The result of a write or sync of an open file. Its error may be that of an earlier write, which all opens of the
    /// file hear once, as with Linux's `errseq_t`.
    ///
    /// # Errors
    /// The error of the write or sync, or else one that this open missed.
    pub(crate) fn report<T>(&self, opened: &Arc<Opened>, result: Result<T, Errno>) -> Result<T, Errno> {
        let missed = opened.check_missed();
        if let Err(error) = result {
            let open = hold(&self.open);
            let others = open.values().filter(|other| other.handle == opened.handle && !Arc::ptr_eq(other, opened));
            others.for_each(|other| other.missed.store(error.raw_os_error(), Ordering::Release));
        }
        result.and_then(|done| missed.map(|()| done))
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
