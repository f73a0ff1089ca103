//! Requests without a reply, and their interruption.
//!
//! The kernel sends one interruption per request for any signal to the waiting thread. It takes effect only if the
//! thread was killed, as with the kernel's own NFS client. Programs do not expect a timer or the end of a child to
//! interrupt an open. A wait for a lock is interrupted by any signal, as POSIX requires. A thread whose first signal
//! was harmless is watched, because the kernel does not report further ones. So is one that closes a file, because the
//! kernel reports no signals at all of a thread that ends.

use std::collections::HashMap;
use std::sync::{Condvar, Mutex};
use std::time::Duration;

use crate::callers;
use crate::sync::{hold, wait, wait_for};

/// How often watched threads are checked.
const LOOK_INTERVAL: Duration = Duration::from_millis(100);

/// Whether a thread was killed.
type Look = fn(u32) -> bool;

/// Requests without a reply.
#[derive(Debug, Default)]
pub(crate) struct Flights {
    table: Mutex<Table>,
    /// Notified when there is a thread to watch, and at the end.
    watching: Condvar,
}

#[derive(Debug, Default)]
struct Table {
    flights: HashMap<u64, Flight>,
    /// Requests whose threads are watched.
    watched: Vec<(u64, Look)>,
    is_over: bool,
}

#[derive(Debug, Clone, Copy)]
struct Flight {
    pid: u32,
    /// Whether any signal interrupts it.
    is_interruptible: bool,
}

/// The result of an interruption.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Interruption {
    /// The caller must answer the request with EINTR.
    Obeyed,
    /// The request goes on; its thread is watched.
    Watched,
    /// There is no such request: not yet, or not any more.
    Unknown,
}

impl Flights {
    /// Notes a request that has arrived.
    pub(crate) fn begin(&self, unique: u64, pid: u32, is_interruptible: bool) {
        hold(&self.table).flights.insert(unique, Flight { pid, is_interruptible });
    }

    /// Whether the request still needs its reply; a caller that gets `true` sends it.
    pub(crate) fn claim(&self, unique: u64) -> bool {
        hold(&self.table).flights.remove(&unique).is_some()
    }

    /// Whether the request still needs its reply.
    pub(crate) fn is_waiting(&self, unique: u64) -> bool {
        hold(&self.table).flights.contains_key(&unique)
    }

    /// Handles a signal to the thread that waits for this request.
    pub(crate) fn interrupt(&self, unique: u64) -> Interruption {
        let Some(flight) = hold(&self.table).flights.get(&unique).copied() else { return Interruption::Unknown };
        // Without the lock, because this reads a file.
        if flight.is_interruptible || callers::is_killed(flight.pid) {
            return if self.claim(unique) { Interruption::Obeyed } else { Interruption::Unknown };
        }
        self.watch(unique, callers::is_killed);
        Interruption::Watched
    }

    /// Watches the thread that waits for this request: the request is answered when the thread turns out to be killed.
    pub(crate) fn watch(&self, unique: u64, is_killed: Look) {
        let mut table = hold(&self.table);
        table.watched.push((unique, is_killed));
        if table.watched.len() == 1 {
            self.watching.notify_all();
        }
    }

    /// Waits until watched threads have been killed, and claims their requests. `None` at the end of the mount.
    pub(crate) fn wait_for_killed(&self) -> Option<Vec<u64>> {
        let mut table = hold(&self.table);
        while table.watched.is_empty() && !table.is_over {
            table = wait(&self.watching, table);
        }
        if table.is_over {
            return None;
        }
        let mut table = wait_for(&self.watching, table, LOOK_INTERVAL);
        let Table { flights, watched, .. } = &mut *table;
        watched.retain(|(unique, _)| flights.contains_key(unique));
        let looked_at: Vec<_> = watched.iter().map(|(unique, look)| (*unique, *look, flights[unique].pid)).collect();
        drop(table);
        let killed = looked_at.into_iter().filter(|(_, is_killed, pid)| is_killed(*pid)).map(|(unique, ..)| unique);
        Some(killed.filter(|unique| self.claim(*unique)).collect())
    }

    /// Notes that the mount has ended.
    pub(crate) fn end(&self) {
        hold(&self.table).is_over = true;
        self.watching.notify_all();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// No process has this number.
    const DEAD: u32 = u32::MAX;

    #[test]
    fn request_is_answered_by_one_only() {
        let flights = Flights::default();
        flights.begin(1, DEAD, false);
        assert_eq!(flights.interrupt(1), Interruption::Obeyed);
        assert!(!flights.claim(1));
        assert_eq!(flights.interrupt(1), Interruption::Unknown);
    }

    #[test]
    fn signal_that_does_not_kill_interrupts_only_one_who_waits_for_a_lock() {
        let flights = Flights::default();
        flights.begin(1, std::process::id(), false);
        flights.begin(2, std::process::id(), true);
        assert_eq!(flights.interrupt(1), Interruption::Watched);
        assert_eq!(flights.interrupt(2), Interruption::Obeyed);
        assert!(flights.is_waiting(1) && !flights.is_waiting(2));
    }

    #[test]
    fn watched_thread_that_dies_frees_its_request() {
        let flights = Flights::default();
        flights.begin(1, std::process::id(), false);
        assert_eq!(flights.interrupt(1), Interruption::Watched);
        assert_eq!(flights.wait_for_killed(), Some(vec![]));
        hold(&flights.table).flights.insert(1, Flight { pid: DEAD, is_interruptible: false });
        assert_eq!(flights.wait_for_killed(), Some(vec![1]));
        flights.end();
        assert_eq!(flights.wait_for_killed(), None);
    }
}
