//! COMPOUNDs that changed something and then came to an operation that has to wait.
//!
//! Most COMPOUNDs that have to wait run again from their first operation on a thread that may, like every call. One that has
//! changed something already must not: it goes on where it stopped. There are never more of them than calls in flight, which
//! the event loops limit.

use std::collections::HashMap;
use std::net::SocketAddr;
use std::sync::{Mutex, MutexGuard, PoisonError};

use super::compound::Progress;

/// Where a COMPOUND stopped.
#[derive(Debug)]
pub(super) struct Paused {
    pub(super) progress: Progress,
    /// How many bytes of the arguments were read.
    pub(super) read: usize,
    /// The results so far.
    pub(super) results: Vec<u8>,
}

/// How many bytes of results are kept at the most, over all that stopped.
const MAX_RESULTS_BYTES: usize = 16 << 20;

/// All that stopped, by sender and xid.
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

    /// Keeps a COMPOUND until it goes on; gives it back when there is no room for its results.
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

    /// Takes up a COMPOUND that stopped.
    pub(super) fn take(&self, sender: SocketAddr, xid: u32) -> Option<Paused> {
        let mut stopped = self.lock();
        let paused = stopped.compounds.remove(&(sender, xid))?;
        stopped.results_bytes -= paused.results.len();
        Some(paused)
    }

    /// Forgets what a client that is gone has left.
    pub(crate) fn forget(&self, sender: SocketAddr) {
        let Stopped { compounds, results_bytes } = &mut *self.lock();
        compounds.retain(|(of, _), paused| {
            let stays = *of != sender;
            *results_bytes -= if stays { 0 } else { paused.results.len() };
            stays
        });
    }
}
