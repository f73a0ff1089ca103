//! Locks that somebody waits for.
//!
//! The file system is asked again and again, as a server knows of waiting only in part; nobody waits inside of a call, so one who stops to
//! wait leaves no lock behind. When a lock of this mount goes, everybody asks at once, first come first.

use std::collections::VecDeque;
use std::sync::{Arc, Condvar, Mutex};
use std::time::{Duration, Instant};

use rustix::io::Errno;
use vfs::{FileLock, LockOutcome, LockOwner};

use crate::errno::errno;
use crate::files::Opened;
use crate::session::Session;
use crate::sync::{hold, wait, wait_for};

/// How long a lock that somebody has is left alone before it is asked for again: at first, and at most.
const FIRST_PAUSE: Duration = Duration::from_millis(20);
const MAX_PAUSE: Duration = Duration::from_secs(1);
/// Which worker asks: the first one's number serves, as a file system with workers' own caches only loses time when two share one.
const WORKER: usize = 0;

/// Somebody who waits for a lock.
pub(crate) struct LockWait {
    /// The request that is answered when the lock is there.
    pub(crate) unique: u64,
    pub(crate) file: Arc<Opened>,
    pub(crate) owner: LockOwner,
    pub(crate) lock: FileLock,
}

/// Everybody who waits for a lock.
#[derive(Default)]
pub(crate) struct LockWaits {
    state: Mutex<State>,
    has_changed: Condvar,
}

#[derive(Default)]
struct State {
    waits: VecDeque<(LockWait, Pause)>,
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
    /// Somebody waits.
    pub(crate) fn add(&self, wait: LockWait) {
        hold(&self.state).waits.push_back((wait, Pause::first()));
        self.has_changed.notify_all();
    }

    /// A lock of this mount was given up.
    pub(crate) fn hurry(&self) {
        let mut state = hold(&self.state);
        if !state.waits.is_empty() {
            let now = Instant::now();
            state.waits.iter_mut().for_each(|(_, pause)| *pause = Pause { next: now, length: FIRST_PAUSE });
            self.has_changed.notify_all();
        }
    }

    /// The mount has ended.
    pub(crate) fn end(&self) {
        hold(&self.state).is_over = true;
        self.has_changed.notify_all();
    }

    /// Asks for locks until the mount ends.
    pub(crate) fn run(&self, session: &Session) {
        while let Some((wait, pause)) = self.next_due() {
            // Whoever got a signal waits no more.
            if session.flights.is_waiting(wait.unique) && !wait.try_once(session, true) {
                hold(&self.state).waits.push_back((wait, pause.longer()));
            }
        }
    }

    /// Waits until it is time to ask for somebody's lock.
    fn next_due(&self) -> Option<(LockWait, Pause)> {
        let mut state = hold(&self.state);
        loop {
            if state.is_over {
                return None;
            }
            let now = Instant::now();
            if let Some(at) = state.waits.iter().position(|(_, pause)| pause.next <= now) {
                return state.waits.remove(at);
            }
            state = match state.waits.iter().map(|(_, pause)| pause.next).min() {
                Some(next) => wait_for(&self.has_changed, state, next - now),
                None => wait(&self.has_changed, state),
            };
        }
    }
}

impl LockWait {
    /// Asks for the lock, and answers the request unless somebody has the lock and it `waits`. Says whether it is answered. Whoever stopped
    /// to wait meanwhile, as for a server that lets locks be reclaimed only, leaves no lock behind.
    pub(crate) fn try_once(&self, session: &Session, waits: bool) -> bool {
        let cx = self.file.context(WORKER);
        let outcome = match self.file.file.lock(&cx, self.owner, self.lock) {
            Ok(LockOutcome::Taken(_)) if waits => return false,
            Ok(LockOutcome::Taken(_)) => Err(Errno::AGAIN),
            Ok(LockOutcome::Free) => Ok(()),
            Err(error) => Err(errno(error)),
        };
        let is_heard = session.flights.claim(self.unique);
        match outcome {
            Err(error) if is_heard => {
                session.send_error(self.unique, error);
            }
            Ok(()) if is_heard && session.send_done(self.unique) => {}
            Ok(()) => {
                // Nobody knows of this lock. If giving it up fails, the file's close does it.
                let _ = self.file.file.unlock(&cx, self.owner, self.lock.first_bytes..=self.lock.last_bytes);
            }
            Err(_) => {}
        }
        true
    }
}
