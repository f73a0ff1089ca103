//! The thread pool: decides which thread listens and which works.

use std::collections::VecDeque;
use std::sync::{Condvar, Mutex};
use std::time::{Duration, Instant};

use crate::sync::{hold, wait, wait_for};

/// The most threads of a mount.
pub(crate) const MAX_THREADS: usize = 64;
/// The most queued requests. A process can still be killed while its request has not been received.
const MAX_QUEUED: usize = 1024;

/// The roles of the threads. At least one thread listens at any time, unless the queue is full or the system refuses
/// more threads.
#[derive(Debug, Default)]
pub(crate) struct WorkerPool {
    state: Mutex<PoolState>,
    /// Notified when a request leaves the queue.
    has_room: Condvar,
    /// Notified when a thread ends.
    has_ended: Condvar,
}

#[derive(Debug, Default)]
struct PoolState {
    threads: usize,
    listening: usize,
    ended: usize,
    queue: VecDeque<Box<[u8]>>,
}

/// What a thread does with a request it has received.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Task {
    /// Carry it out; others listen.
    Work,
    /// Start the thread with this number, which listens, and then carry it out.
    Start(usize),
    /// Queue it and go on listening, because no other thread does.
    Queue,
}

impl WorkerPool {
    /// Notes that the first thread starts; its number is 0.
    pub(crate) fn begin(&self) {
        let mut state = hold(&self.state);
        state.threads = 1;
        state.listening = 1;
    }

    /// Notes that a listening thread has received a request.
    pub(crate) fn received(&self) -> Task {
        let mut state = hold(&self.state);
        if state.listening > 1 {
            state.listening -= 1;
            return Task::Work;
        }
        if state.threads == MAX_THREADS {
            return Task::Queue;
        }
        state.threads += 1;
        Task::Start(state.threads - 1)
    }

    /// Notes that the thread could not be started: nobody listens until a thread has finished its request.
    pub(crate) fn not_started(&self) {
        let mut state = hold(&self.state);
        state.threads -= 1;
        state.listening -= 1;
    }

    /// Queues a request; waits while the queue is full.
    pub(crate) fn queue(&self, request: &[u8]) {
        let mut state = hold(&self.state);
        while state.queue.len() >= MAX_QUEUED {
            state = wait(&self.has_room, state);
        }
        state.queue.push_back(request.into());
    }

    /// The next request for a thread that has finished one. Without any, the thread listens again.
    pub(crate) fn next(&self) -> Option<Box<[u8]>> {
        let mut state = hold(&self.state);
        let request = state.queue.pop_front();
        match request {
            Some(_) => self.has_room.notify_one(),
            None => state.listening += 1,
        }
        request
    }

    /// Notes that a thread has ended, because the mount has.
    pub(crate) fn ended(&self) {
        hold(&self.state).ended += 1;
        self.has_ended.notify_all();
    }

    /// Waits for the first thread to end.
    pub(crate) fn wait_for_end(&self) {
        let mut state = hold(&self.state);
        while state.ended == 0 {
            state = wait(&self.has_ended, state);
        }
    }

    /// Whether the first thread ends within `time`.
    pub(crate) fn ends_within(&self, time: Duration) -> bool {
        self.wait_until(time, |state| state.ended > 0)
    }

    /// Whether all threads end within `time`.
    pub(crate) fn all_end_within(&self, time: Duration) -> bool {
        self.wait_until(time, |state| state.ended == state.threads)
    }

    fn wait_until(&self, time: Duration, is_true: impl Fn(&PoolState) -> bool) -> bool {
        let end = Instant::now() + time;
        let mut state = hold(&self.state);
        loop {
            let left = end.saturating_duration_since(Instant::now());
            if is_true(&state) || left.is_zero() {
                return is_true(&state);
            }
            state = wait_for(&self.has_ended, state, left);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn somebody_listens_whatever_happens_and_the_last_one_only_queues() {
        let workers = WorkerPool::default();
        workers.begin();
        for number in 1..MAX_THREADS {
            assert_eq!(workers.received(), Task::Start(number));
        }
        assert_eq!(workers.received(), Task::Queue);
        workers.queue(b"x");
        assert_eq!(workers.next().as_deref(), Some(&b"x"[..]));
        assert_eq!(workers.next(), None);
        assert_eq!(workers.received(), Task::Work);
        assert_eq!(workers.received(), Task::Queue);
    }
}
