//! What a loop cannot do without waiting, and the queue to the blocking threads, which do it.

use std::io;
use std::net::SocketAddr;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use buffer::{Buffer, Output, SharedFile};
use peer::Peer;

use crate::Lane;
use crate::answer::ServiceAnswer;
use crate::budget::{ClientBudget, MemoryCharge};
use crate::lanes::Lanes;
use crate::slab::SlabKey;
use crate::sys::LocalAddress;

/// What a loop cannot do without waiting.
pub(crate) enum BlockingJob {
    /// Answer messages.
    Call(CallJob),
    /// Read a part of a file that a reply announced.
    Fetch(FetchJob),
}

/// A part of a file that a connection has to send next, and that was evicted from memory.
pub(crate) struct FetchJob {
    /// The loop that the connection belongs to.
    pub(crate) loop_index: usize,
    pub(crate) key: SlabKey,
    pub(crate) peer: SocketAddr,
    pub(crate) file: SharedFile,
    pub(crate) offset_bytes: u64,
    /// At most [`MAX_FETCH_BYTES`].
    pub(crate) length: usize,
}

/// What a [`FetchJob`] read: fewer bytes than it was to read where the file ends.
pub(crate) struct Fetched {
    pub(crate) key: SlabKey,
    pub(crate) bytes: io::Result<Buffer>,
}

/// How many bytes are fetched at once for a connection.
pub(crate) const MAX_FETCH_BYTES: usize = 256 << 10;

/// A message, or several that are answered together.
pub(crate) struct CallJob {
    /// The loop that it belongs to.
    pub(crate) loop_index: usize,
    pub(crate) origin: ReplyRoute,
    pub(crate) lane: Lane,
    pub(crate) peer: Peer,
    /// Who is charged for the answer; nobody for that of a datagram, which is small.
    pub(crate) client: Option<Arc<ClientBudget>>,
    /// A message and those that continue it; never none.
    pub(crate) messages: Vec<Buffer>,
    pub(crate) received: Instant,
    /// Where the answer goes; empty.
    pub(crate) output: Output,
}

/// What a job's answer goes out through.
#[derive(Debug, Clone, Copy)]
pub(crate) enum ReplyRoute {
    /// A connection of the loop.
    Connection(SlabKey),
    /// One of the server's datagram sockets.
    Datagram {
        /// Which one.
        socket: usize,
        /// From which address of ours the answer has to come.
        source: Option<LocalAddress>,
    },
}

/// A job that was done.
pub(crate) struct DoneJob {
    pub(crate) origin: ReplyRoute,
    pub(crate) lane: Lane,
    pub(crate) peer: Peer,
    /// The messages, for their memory to be used again.
    pub(crate) messages: Vec<Buffer>,
    pub(crate) output: Output,
    pub(crate) asked: ServiceAnswer,
    /// What the client holds until its connection has the answer.
    pub(crate) charge: Option<MemoryCharge>,
}

impl BlockingJob {
    pub(crate) fn lane(&self) -> Lane {
        match self {
            BlockingJob::Call(job) => job.lane,
            BlockingJob::Fetch(job) => Lane(job.file.storage()),
        }
    }

    pub(crate) fn peer(&self) -> SocketAddr {
        match self {
            BlockingJob::Call(job) => job.peer.address,
            BlockingJob::Fetch(job) => job.peer,
        }
    }
}

/// The jobs that no thread has taken yet, and the state of the threads.
pub(crate) struct JobQueue {
    state: Mutex<QueueState>,
    changed: Condvar,
    max_threads: usize,
    max_idle: Duration,
}

struct QueueState {
    jobs: Lanes<SocketAddr, BlockingJob>,
    started: usize,
    idle: usize,
    /// Threads that take no further job.
    ended: usize,
    /// Those of them that have let go of the service.
    gone: usize,
    closed: bool,
}

impl JobQueue {
    /// Makes an empty queue for up to `max_threads` threads, of which the last `spare` are kept for lanes that have
    /// none. All threads but one end when they had no job for `max_idle`.
    pub(crate) fn new(max_threads: usize, spare: usize, max_idle: Duration) -> JobQueue {
        let state =
            QueueState { jobs: Lanes::new(max_threads, spare), started: 0, idle: 0, ended: 0, gone: 0, closed: false };
        JobQueue { state: Mutex::new(state), changed: Condvar::new(), max_threads, max_idle }
    }

    /// Lets no further job in, drops those that no thread has taken and lets the threads end.
    pub(crate) fn close(&self) {
        let mut state = self.lock();
        state.closed = true;
        let dropped = state.jobs.len();
        state.jobs.clear();
        drop(state);
        self.changed.notify_all();
        if dropped > 0 {
            tracing::warn!(dropped, "calls were dropped because the server ended before they were answered");
        }
    }

    /// Waits until every thread has let go of the service, no longer than until `deadline`; says how many are left.
    pub(crate) fn wait_until_ended(&self, deadline: Instant) -> usize {
        let mut state = self.lock();
        loop {
            let left = state.started - state.gone;
            let wait = deadline.saturating_duration_since(Instant::now());
            if left == 0 || wait.is_zero() {
                return left;
            }
            (state, _) = self.changed.wait_timeout(state, wait).unwrap_or_else(PoisonError::into_inner);
        }
    }

    fn lock(&self) -> MutexGuard<'_, QueueState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Puts a job in; says which thread has to be started for it, if one has.
    pub(crate) fn push(&self, job: BlockingJob) -> Option<usize> {
        let mut state = self.lock();
        if state.closed {
            return None;
        }
        state.jobs.push(job.lane(), job.peer(), job);
        self.call_thread(state)
    }

    /// Wakes a thread if there is a job for it; says which one has to be started, if no idle one is left.
    fn call_thread(&self, mut state: MutexGuard<'_, QueueState>) -> Option<usize> {
        if !state.jobs.has_next() {
            return None;
        }
        if state.idle >= state.jobs.len() || state.running() == self.max_threads {
            drop(state);
            self.changed.notify_one();
            return None;
        }
        state.started += 1;
        Some(state.started - 1)
    }

    /// Takes the next job, waiting for it; nothing when the thread has to end, which is counted as ended then. Says as
    /// well which thread has to be started, as the end of the job before may have made room for more than this one.
    pub(crate) fn take(&self, finished: Option<Lane>) -> Option<(BlockingJob, Option<usize>)> {
        let mut state = self.lock();
        if let Some(lane) = finished {
            state.jobs.done(lane);
        }
        let mut is_idle = false;
        loop {
            if let Some((_, job)) = state.jobs.take() {
                return Some((job, self.call_thread(state)));
            }
            if state.closed || is_idle && state.running() > 1 {
                state.ended += 1;
                return None;
            }
            state.idle += 1;
            let waited = self.changed.wait_timeout(state, self.max_idle);
            let (locked, timeout) = waited.unwrap_or_else(PoisonError::into_inner);
            (state, is_idle) = (locked, timeout.timed_out());
            state.idle -= 1;
        }
    }

    /// Counts the first thread as started; says its number.
    pub(crate) fn first_thread(&self) -> usize {
        let mut state = self.lock();
        state.started += 1;
        state.started - 1
    }

    /// Counts a thread that has ended and let go of the service.
    pub(crate) fn thread_gone(&self) {
        self.lock().gone += 1;
        self.changed.notify_all();
    }

    /// How many threads have ended so far.
    pub(crate) fn ended_threads(&self) -> usize {
        self.lock().ended
    }

    pub(crate) fn thread_not_started(&self) {
        self.lock().started -= 1;
    }
}

impl QueueState {
    fn running(&self) -> usize {
        self.started - self.ended
    }
}
