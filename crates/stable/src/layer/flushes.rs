//! Flushes in progress.
//!
//! Storage reports a loss to one caller, and a flush of the same data that ends at the same time may succeed. So the
//! result of a flush counts only when all others that overlapped it have ended too.

use std::collections::BTreeMap;
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};

use vfs::Handle;

use crate::aliases;

/// What is flushed: a file, or the whole file system.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Flushed {
    File(Handle),
    All,
}

/// The flushes of one export that have not ended.
#[derive(Default)]
pub(super) struct Flushes {
    running: Mutex<Running>,
    ended: Condvar,
}

#[derive(Default)]
struct Running {
    /// The number that the next flush gets.
    next: u64,
    files: BTreeMap<u64, Handle>,
}

/// A flush in progress. Drop it when its result is known to the export.
pub(super) struct FlushInFlight<'f> {
    flushes: &'f Flushes,
    number: u64,
    pub(super) what: Flushed,
}

impl Drop for FlushInFlight<'_> {
    fn drop(&mut self) {
        self.flushes.lock().files.remove(&self.number);
        self.flushes.ended.notify_all();
    }
}

impl Flushes {
    pub(super) fn begin(&self, what: Flushed) -> FlushInFlight<'_> {
        let mut running = self.lock();
        let number = running.next;
        running.next += 1;
        running.files.insert(number, key(what));
        FlushInFlight { flushes: self, number, what }
    }

    /// Waits for the end of the flushes that are running now. Later ones do not prolong this.
    pub(super) fn wait_for_running(&self, what: Flushed) {
        let running = self.lock();
        let (until, key) = (running.next, key(what));
        let are_left = |running: &mut Running| running.files.range(..until).any(|(_, file)| *file == key);
        drop(self.ended.wait_while(running, are_left).unwrap_or_else(PoisonError::into_inner));
    }

    fn lock(&self) -> MutexGuard<'_, Running> {
        self.running.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn key(what: Flushed) -> Handle {
    match what {
        Flushed::File(file) => file,
        Flushed::All => aliases::none(),
    }
}
