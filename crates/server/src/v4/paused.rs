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

/// All that stopped, by sender and xid.
#[derive(Debug, Default)]
pub(crate) struct PausedCompounds(Mutex<HashMap<(SocketAddr, u32), Paused>>);

impl PausedCompounds {
    fn lock(&self) -> MutexGuard<'_, HashMap<(SocketAddr, u32), Paused>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Keeps a COMPOUND until it goes on.
    pub(super) fn keep(&self, sender: SocketAddr, xid: u32, paused: Paused) {
        self.lock().insert((sender, xid), paused);
    }

    /// Takes up a COMPOUND that stopped.
    pub(super) fn take(&self, sender: SocketAddr, xid: u32) -> Option<Paused> {
        self.lock().remove(&(sender, xid))
    }

    /// Forgets what a client that is gone has left.
    pub(crate) fn forget(&self, sender: SocketAddr) {
        self.lock().retain(|(of, _), _| *of != sender);
    }
}
