//! What all loops and blocking threads of a server share.

use std::io;
use std::net::IpAddr;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;
use std::time::Duration;

use crate::bind::Bound;
use crate::budget::{Budget, ConnectionAccount};
use crate::complaints::Complaints;
use crate::counters::LoopCounters;
use crate::jobs::JobQueue;
use crate::mailbox::Mailbox;
use crate::release::Releases;
use crate::{Counters, Limits, SendPath};

/// What is shared and does not depend on the service's type.
pub(crate) struct Hub {
    pub(crate) limits: Limits,
    pub(crate) policy: Policy,
    pub(crate) bound: Vec<Bound>,
    pub(crate) loops: Box<[LoopShared]>,
    pub(crate) jobs: JobQueue,
    pub(crate) complaints: Complaints,
    pub(crate) budget: Arc<Budget>,
    pub(crate) releases: Releases,
    pub(crate) loop_threads: Mutex<Vec<JoinHandle<()>>>,
    running_loops: AtomicUsize,
    open: AtomicUsize,
}

/// How the loops go about their work.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Policy {
    pub(crate) send_path: SendPath,
    /// Whether connections with little to do go before those with much, and clients take turns.
    pub(crate) is_fair: bool,
    /// For how long a loop looks for events before it sleeps, while they follow one another more closely than that.
    pub(crate) busy_poll: Duration,
}

/// A place for one more connection.
pub(crate) struct Admitted {
    pub(crate) loop_index: usize,
    pub(crate) account: ConnectionAccount,
}

/// Why there is no place for one more connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum TooMany {
    /// As many are open as may be.
    InAll,
    /// Its client has as many as one client may have.
    OfClient,
}

/// What others see of one loop. The alignment keeps the loops' counters off each other's cache lines.
#[repr(align(128))]
pub(crate) struct LoopShared {
    pub(crate) counters: LoopCounters,
    pub(crate) mailbox: Mailbox,
    open: AtomicUsize,
}

/// A hub with the service that answers.
pub(crate) struct Engine<S: ?Sized> {
    pub(crate) hub: Arc<Hub>,
    pub(crate) service: Arc<S>,
}

impl Hub {
    /// Makes the hub of `loops` loops, which count as running from now on.
    pub(crate) fn new(limits: Limits, policy: Policy, bound: Vec<Bound>, loops: usize) -> io::Result<Hub> {
        let shared: io::Result<Box<[LoopShared]>> = (0..loops).map(|_| LoopShared::new()).collect();
        Ok(Hub {
            jobs: JobQueue::new(limits.blocking_threads, limits.spare_blocking_threads, limits.blocking_thread_idle),
            complaints: Complaints::default(),
            budget: Budget::new(&limits),
            releases: Releases::default(),
            limits,
            policy,
            bound,
            loops: shared?,
            loop_threads: Mutex::new(Vec::new()),
            running_loops: AtomicUsize::new(loops),
            open: AtomicUsize::new(0),
        })
    }

    /// Finds a loop for one more connection of the client at `address`, the one with the fewest. A connection of the
    /// server's own making does not count as one too many of its peer.
    pub(crate) fn admit(
        &self,
        address: IpAddr,
        is_own: bool,
        is_friend: impl FnOnce() -> bool,
    ) -> Result<Admitted, TooMany> {
        let account = self.budget.join(address.to_canonical(), is_own, is_friend).ok_or(TooMany::OfClient)?;
        if self.open.fetch_add(1, Ordering::Relaxed) >= self.limits.max_connections {
            self.open.fetch_sub(1, Ordering::Relaxed);
            return Err(TooMany::InAll);
        }
        Ok(Admitted { loop_index: self.place(), account })
    }

    /// Counts a connection to the loop with the fewest, also when several loops accept connections at once.
    fn place(&self) -> usize {
        loop {
            let counts = self.loops.iter().map(|shared| shared.open.load(Ordering::Relaxed)).enumerate();
            let (index, fewest) = counts.min_by_key(|(_, count)| *count).expect("a server has a loop");
            let open = &self.loops[index].open;
            if open.compare_exchange(fewest, fewest + 1, Ordering::Relaxed, Ordering::Relaxed).is_ok() {
                return index;
            }
        }
    }

    /// The number of open connections of all loops.
    pub(crate) fn open_connections(&self) -> usize {
        self.open.load(Ordering::Relaxed)
    }

    /// Takes note that a connection of the loop `index` is closed.
    pub(crate) fn leave(&self, index: usize) {
        self.loops[index].open.fetch_sub(1, Ordering::Relaxed);
        self.open.fetch_sub(1, Ordering::Relaxed);
    }

    /// Takes note that a loop has ended; the last one sends the blocking threads home.
    pub(crate) fn loop_ended(&self) {
        if self.running_loops.fetch_sub(1, Ordering::AcqRel) == 1 {
            self.jobs.close();
        }
    }

    /// The sum of all loops' counters.
    pub(crate) fn counters(&self) -> Counters {
        let mut sum = Counters::default();
        for shared in &self.loops {
            sum += &shared.counters;
        }
        sum
    }
}

impl LoopShared {
    fn new() -> io::Result<LoopShared> {
        Ok(LoopShared { counters: LoopCounters::default(), mailbox: Mailbox::new()?, open: AtomicUsize::new(0) })
    }
}
