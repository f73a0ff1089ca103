//! Locks that somebody waits for, and those that are about to be handed over.
//!
//! The file system is asked again and again, as a server knows of waiting only in part; nobody waits inside of a call, so one who stops to
//! wait leaves no lock behind. When a lock of this mount goes, everybody asks at once, first come first.
//!
//! Whoever gets a lock is to see what others wrote before they let theirs go, so the kernel drops the file's pages and attributes first. That
//! can wait for reads and writes of the file that are under way, which need the other threads of the mount: only the thread of the locks does it.

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

/// Somebody who wants a lock.
pub(crate) struct LockWait {
    /// The request that is answered when the lock is there.
    pub(crate) unique: u64,
    /// The kernel's number for the file.
    pub(crate) node: u64,
    pub(crate) file: Arc<Opened>,
    pub(crate) owner: LockOwner,
    pub(crate) lock: FileLock,
}

/// What the thread of the locks does next.
enum Due {
    Ask(LockWait, Pause),
    HandOver(LockWait),
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
    granted: VecDeque<LockWait>,
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
    /// Asks for a lock, and sees to it that the request is answered: at once, or if it `waits` when nobody else's lock is in the way any more.
    pub(crate) fn begin(&self, session: &Session, wait: LockWait, waits: bool) {
        match wait.ask() {
            Ok(LockOutcome::Free) => hold(&self.state).granted.push_back(wait),
            Ok(LockOutcome::Taken(_)) if waits => hold(&self.state).waits.push_back((wait, Pause::first())),
            Ok(LockOutcome::Taken(_)) => return wait.refuse(session, Errno::AGAIN),
            Err(error) => return wait.refuse(session, errno(error)),
        }
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

    /// Asks for locks and hands them over until the mount ends.
    pub(crate) fn run(&self, session: &Session) {
        while let Some(due) = self.next_due() {
            match due {
                Due::HandOver(wait) => wait.hand_over(session),
                // Whoever got a signal waits no more.
                Due::Ask(wait, _) if !session.flights.is_waiting(wait.unique) => {}
                Due::Ask(wait, pause) => match wait.ask() {
                    Ok(LockOutcome::Free) => wait.hand_over(session),
                    Ok(LockOutcome::Taken(_)) => hold(&self.state).waits.push_back((wait, pause.longer())),
                    Err(error) => wait.refuse(session, errno(error)),
                },
            }
        }
    }

    /// Waits until there is a lock to hand over, or it is time to ask for one.
    fn next_due(&self) -> Option<Due> {
        let mut state = hold(&self.state);
        loop {
            if state.is_over {
                return None;
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
    fn ask(&self) -> vfs::Result<LockOutcome> {
        self.file.file.lock(&self.file.context(WORKER), self.owner, self.lock)
    }

    fn refuse(&self, session: &Session, error: Errno) {
        if session.flights.claim(self.unique) {
            session.send_error(self.unique, error);
        }
    }

    /// Answers the request with the lock that it got. Whoever stopped to wait meanwhile, as for a server that lets locks be reclaimed only,
    /// leaves no lock behind.
    fn hand_over(&self, session: &Session) {
        session.forget_content(self.node);
        if !(session.flights.claim(self.unique) && session.send_done(self.unique)) {
            // Nobody knows of this lock. If giving it up fails, the file's close does it.
            let range = self.lock.first_bytes..=self.lock.last_bytes;
            let _ = self.file.file.unlock(&self.file.context(WORKER), self.owner, range);
        }
    }
}
