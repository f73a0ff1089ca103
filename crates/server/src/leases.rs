//! Leases on the host's files, under which files are delegated that local processes may change too.
//!
//! A lease breaks when a local process wants to write to its file, which then waits until the delegations are returned
//! or revoked. It also breaks after a change that does not wait, such as one of the mode or of a name: until the
//! client has the recall, it may rely on what was true before (docs/exports.md).
//!
//! Files with state are held too, so that their clients reach them after their last name is removed.

use std::fmt;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use arc_swap::ArcSwap;
use state::{FileKey, Gone, HostLeases};
use vfs::{Context, FileHold, FileLease};

use crate::exports::ExportTable;

/// Leases files through the file systems of the exports.
pub(crate) struct ExportedLeases {
    exports: Arc<ArcSwap<ExportTable>>,
    broken: Arc<BrokenLeases>,
}

impl ExportedLeases {
    pub(crate) fn new(exports: Arc<ArcSwap<ExportTable>>, broken: Arc<BrokenLeases>) -> ExportedLeases {
        ExportedLeases { exports, broken }
    }
}

impl HostLeases for ExportedLeases {
    fn lease(&mut self, file: &FileKey) -> Option<Box<dyn FileLease>> {
        let exports = self.exports.load();
        let exported = exports.showing(file)?;
        let (broken, key) = (Arc::clone(&self.broken), *file);
        let on_break = Box::new(move || broken.add(key));
        let lease = exported.export.file_system.lease(&Context::ROOT, &file.node, on_break);
        lease.inspect_err(|error| tracing::debug!(file = ?file.node, %error, "a file is not leased")).ok()
    }

    fn hold(&mut self, file: &FileKey, worker: usize) -> Result<Option<FileHold>, Gone> {
        let exports = self.exports.load();
        let cx = Context { worker, ..Context::ROOT };
        let Some(exported) = exports.showing(file) else { return Ok(None) };
        let held = exported.export.file_system.hold(&cx, &file.node);
        match held.inspect_err(|error| tracing::debug!(file = ?file.node, %error, "a file with state is not held")) {
            Err(vfs::Error::Stale) => Err(Gone),
            held => Ok(held.ok()),
        }
    }
}

/// The files whose leases are broken, until their delegations are recalled. A lease breaks once, and their number is
/// limited.
#[derive(Default)]
pub(crate) struct BrokenLeases {
    files: Mutex<Vec<FileKey>>,
    wake: OnceLock<Box<dyn Fn() + Send + Sync>>,
}

impl fmt::Debug for BrokenLeases {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.files.fmt(f)
    }
}

impl BrokenLeases {
    /// Sets what runs when a lease is broken.
    pub(crate) fn set_wake(&self, wake: Box<dyn Fn() + Send + Sync>) {
        // This is called once.
        let _ = self.wake.set(wake);
    }

    fn add(&self, file: FileKey) {
        self.files.lock().unwrap_or_else(PoisonError::into_inner).push(file);
        if let Some(wake) = self.wake.get() {
            wake();
        }
    }

    pub(crate) fn take(&self) -> Vec<FileKey> {
        std::mem::take(&mut *self.files.lock().unwrap_or_else(PoisonError::into_inner))
    }
}
