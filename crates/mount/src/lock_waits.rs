//! Waits for locks, and delivers granted locks.
//!
//! Locks are polled, because servers support waiting only in part. No call blocks, so a caller that stops waiting
//! leaves no lock behind. When this mount releases a lock, all waiting requests are retried at once, in the order of
//! arrival.
//!
//! The owner of a new lock must see what others wrote before they released theirs, so the kernel drops the file's pages
//! and attributes first. That can wait for reads and writes in flight, which need the other threads of the mount. So
//! only the lock thread does it. Before it releases a lock of a file that may be written, the kernel drops the pages,
//! too: so it sends those that a mapping changed, and the next owner gets them.

use std::collections::VecDeque;
use std::sync::{Arc, Condvar, Mutex};
use std::time::{Duration, Instant};

use rustix::io::Errno;
use vfs::LockOutcome;

use crate::errno::errno;
use crate::files::Opened;
use crate::local_locks::{LocalLock, LockCall};
use crate::session::Session;
use crate::sync::{hold, wait, wait_for};

/// The pause before a lock held by another owner is requested again: the first, and the longest.
const FIRST_PAUSE: Duration = Duration::from_millis(20);
const MAX_PAUSE: Duration = Duration::from_secs(1);

/// A request that waits for a lock, or for its release.
pub(crate) struct LockWait {
    /// The request to answer when the lock is granted.
    pub(crate) unique: u64,
    /// The file's node ID.
    pub(crate) node: u64,
    pub(crate) file: Arc<Opened>,
    pub(crate) call: LockCall,
    pub(crate) wanted: LocalLock,
}

/// The next task of the lock thread.
enum Due {
    Ask(LockWait, Pause),
    HandOver(LockWait),
    Release(LockWait),
}

/// All requests that wait for locks.
#[derive(Default)]
pub(crate) struct LockWaits {
    state: Mutex<WaitState>,
    has_changed: Condvar,
}

#[derive(Default)]
struct WaitState {
    waits: VecDeque<(LockWait, Pause)>,
    granted: VecDeque<LockWait>,
    releases: VecDeque<LockWait>,
    is_over: bool,
}

#[derive(Clone, Copy)]
struct Pause {
    next: Instant,
    length: Duration,
}

impl Pause {
    fn first() -> Pause {
        Pause { next: Instant::now() + FIRST_PAUSE, length: FIRST_PAUSE }
    }

    fn longer(self) -> Pause {
        let length = (self.length * 2).min(MAX_PAUSE);
        Pause { next: Instant::now() + length, length }
    }
}

impl LockWaits {
    /// Requests a lock and has the request answered: at once, or if it `waits` when no other owner's lock conflicts any
    /// more.
    pub(crate) fn begin(&self, session: &Session, wait: LockWait, waits: bool) {
        match session.lock(&wait.file, wait.call, wait.wanted) {
            Ok(LockOutcome::Free) => hold(&self.state).granted.push_back(wait),
            Ok(LockOutcome::Taken(_)) if waits => hold(&self.state).waits.push_back((wait, Pause::first())),
            Ok(LockOutcome::Taken(_)) => return wait.refuse(session, Errno::AGAIN),
            Err(error) => return wait.refuse(session, errno(error)),
        }
        self.has_changed.notify_all();
    }

    /// Has the lock thread release a lock and answer the request.
    pub(crate) fn release(&self, wait: LockWait) {
        hold(&self.state).releases.push_back(wait);
        self.has_changed.notify_all();
    }

    /// Retries at once, because this mount released a lock.
    pub(crate) fn hurry(&self) {
        let mut state = hold(&self.state);
        if !state.waits.is_empty() {
            let now = Instant::now();
            state.waits.iter_mut().for_each(|(_, pause)| *pause = Pause { next: now, length: FIRST_PAUSE });
            self.has_changed.notify_all();
        }
    }

    /// Notes that the mount has ended.
    pub(crate) fn end(&self) {
        hold(&self.state).is_over = true;
        self.has_changed.notify_all();
    }

    /// Requests locks and delivers them until the mount ends.
    pub(crate) fn run(&self, session: &Session) {
        while let Some(due) = self.next_due() {
            match due {
                Due::HandOver(wait) => wait.hand_over(session),
                Due::Release(wait) => wait.release(session),
                // The request was interrupted, so it no longer waits.
                Due::Ask(wait, _) if !session.flights.is_waiting(wait.unique) => {}
                Due::Ask(wait, pause) => match session.lock(&wait.file, wait.call, wait.wanted) {
                    Ok(LockOutcome::Free) => wait.hand_over(session),
                    Ok(LockOutcome::Taken(_)) => hold(&self.state).waits.push_back((wait, pause.longer())),
                    Err(error) => wait.refuse(session, errno(error)),
                },
            }
        }
    }

    /// Waits until a lock can be delivered, or one is due to be requested again.
    fn next_due(&self) -> Option<Due> {
        let mut state = hold(&self.state);
        loop {
            if state.is_over {
                return None;
            }
            if let Some(wait) = state.releases.pop_front() {
                return Some(Due::Release(wait));
            }
            if let Some(wait) = state.granted.pop_front() {
                return Some(Due::HandOver(wait));
            }
            let now = Instant::now();
            if let Some(at) = state.waits.iter().position(|(_, pause)| pause.next <= now) {
                return state.waits.remove(at).map(|(wait, pause)| Due::Ask(wait, pause));
            }
            state = match state.waits.iter().map(|(_, pause)| pause.next).min() {
                Some(next) => wait_for(&self.has_changed, state, next - now),
                None => wait(&self.has_changed, state),
            };
        }
    }
}

impl LockWait {
    fn refuse(&self, session: &Session, error: Errno) {
        if session.flights.claim(self.unique) {
            session.send_error(self.unique, error);
        }
    }

    /// Answers the request with its granted lock. A caller that stopped waiting meanwhile, for example during a
    /// server's grace period, leaves no lock behind.
    fn hand_over(&self, session: &Session) {
        session.forget_content(self.node);
        if !(session.flights.claim(self.unique) && session.send_done(self.unique)) {
            // Nobody knows of this lock. If unlocking fails, the file's close releases it.
            let _ = self.unlock(session);
        }
    }

    /// Releases the lock once the kernel has sent the pages that a mapping changed.
    fn release(&self, session: &Session) {
        session.forget_content(self.node);
        match self.unlock(session) {
            Ok(()) if session.flights.claim(self.unique) => drop(session.send_done(self.unique)),
            Ok(()) => {}
            Err(error) => self.refuse(session, errno(error)),
        }
    }

    fn unlock(&self, session: &Session) -> vfs::Result<()> {
        session.unlock(&self.file, self.call, self.wanted.owner, self.wanted.range_bytes())
    }
}
