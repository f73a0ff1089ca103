//! Leases on the host's files, under which files are delegated that local processes may change too.
//!
//! A lease breaks when a local process wants to write to its file, which then waits until the delegations are returned
//! or revoked. It also breaks after a change that does not wait, such as one of the mode or of a name: until the
//! client has the recall, it may rely on what was true before (docs/exports.md).

use std::fmt;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::time::Duration;

use arc_swap::ArcSwap;
use state::{FileKey, HostLeases};
use vfs::{Context, FileLease};

use crate::exports::ExportTable;
use crate::server::Server;

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
    fn add(&self, file: FileKey) {
        self.files.lock().unwrap_or_else(PoisonError::into_inner).push(file);
        if let Some(wake) = self.wake.get() {
            wake();
        }
    }

    fn take(&self) -> Vec<FileKey> {
        std::mem::take(&mut *self.files.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

impl Server {
    /// Sets what runs on a thread of its own when a lease is broken, and should call [`Server::recall_leased`] at once:
    /// a local process waits. Without it, [`Server::tick`] does that.
    pub fn on_broken_lease(&self, wake: Box<dyn Fn() + Send + Sync>) {
        // This is called once.
        let _ = self.broken_leases.wake.set(wake);
    }

    /// Recalls the delegations of files whose leases are broken.
    pub fn recall_leased(&self, now: Duration) {
        for file in self.broken_leases.take() {
            let exports = self.exports.load();
            let break_time = exports.showing(&file).and_then(|exported| exported.export.file_system.lease_break_time());
            // Without the export, nobody knows how much time is left.
            self.state.lease_broken(now, &file, break_time.unwrap_or_default());
        }
    }
}
