//! COMPOUNDs that changed something before an operation that must block.
//!
//! Most COMPOUNDs that must block run again from their first operation on a thread that may block, like every call. One
//! that already changed something continues where it stopped instead. There are never more than calls in flight, which
//! the event loops limit.

use std::collections::HashMap;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use vfs::Handle;

use super::progress::CompoundState;
use crate::exports::Exported;

/// A paused COMPOUND.
#[derive(Debug)]
pub(super) struct Paused {
    pub(super) progress: CompoundState,
    pub(super) current: Option<PausedFile>,
    pub(super) saved: Option<PausedFile>,
    /// The number of argument bytes already read.
    pub(super) read: usize,
    /// The results so far.
    pub(super) results: Vec<u8>,
}

/// The current or the saved file of a paused COMPOUND.
#[derive(Debug)]
pub(super) struct PausedFile {
    pub(super) exported: Arc<Exported>,
    pub(super) handle: Handle,
}

/// The most bytes of results of all paused COMPOUNDs.
const MAX_RESULTS_BYTES: usize = 16 << 20;

/// The paused COMPOUNDs, by sender and XID.
#[derive(Debug, Default)]
pub(crate) struct PausedCompounds(Mutex<Stopped>);

#[derive(Debug, Default)]
struct Stopped {
    compounds: HashMap<(SocketAddr, u32), Paused>,
    results_bytes: usize,
}

impl PausedCompounds {
    fn lock(&self) -> MutexGuard<'_, Stopped> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Stores a COMPOUND until it continues; returns it if there is no room for its results.
    pub(super) fn keep(&self, sender: SocketAddr, xid: u32, paused: Paused) -> Option<Paused> {
        let mut stopped = self.lock();
        if stopped.results_bytes + paused.results.len() > MAX_RESULTS_BYTES {
            return Some(paused);
        }
        stopped.results_bytes += paused.results.len();
        if let Some(earlier) = stopped.compounds.insert((sender, xid), paused) {
            stopped.results_bytes -= earlier.results.len();
        }
        None
    }

    /// Takes a paused COMPOUND.
    pub(super) fn take(&self, sender: SocketAddr, xid: u32) -> Option<Paused> {
        let mut stopped = self.lock();
        let paused = stopped.compounds.remove(&(sender, xid))?;
        stopped.results_bytes -= paused.results.len();
        Some(paused)
    }

    /// Removes the COMPOUNDs of a connection that closed.
    pub(crate) fn forget(&self, sender: SocketAddr) {
        let Stopped { compounds, results_bytes } = &mut *self.lock();
        compounds.retain(|(of, _), paused| {
            let stays = *of != sender;
            *results_bytes -= if stays { 0 } else { paused.results.len() };
            stays
        });
    }
}
