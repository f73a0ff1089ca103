//! What is left in hand of a server that runs.

use std::fmt;
use std::sync::{Arc, PoisonError};
use std::time::{Duration, Instant};

use crate::hub::Hub;
use crate::mailbox::Letter;
use crate::{Bound, Counters};

/// How long [`Handle::join`] waits for blocking threads after the loops have ended; one may hang in a dead file system.
const BLOCKING_THREADS_END: Duration = Duration::from_secs(1);

/// A server that runs; copies are handles of the same server.
#[derive(Clone)]
pub struct Handle {
    hub: Arc<Hub>,
}

impl Handle {
    pub(crate) fn new(hub: Arc<Hub>) -> Handle {
        Handle { hub }
    }

    /// The addresses that are served, those of TCP first.
    pub fn bound(&self) -> &[Bound] {
        &self.hub.bound
    }

    /// What happened so far.
    pub fn counters(&self) -> Counters {
        self.hub.counters()
    }

    /// Asks the server to end, and does not wait for it.
    ///
    /// It accepts and reads nothing more, answers the messages that it has read, sends the answers, and closes each
    /// connection when its peer has acknowledged them. What is not finished after `grace` is dropped. A second call can
    /// only shorten the first one's grace.
    pub fn shutdown(&self, grace: Duration) {
        let deadline = Instant::now() + grace;
        for desk in &self.hub.loops {
            desk.mailbox.post(Letter::Shutdown { deadline });
        }
    }

    /// Waits until the server has ended. Any number of threads may wait.
    ///
    /// A blocking thread that hangs in its call is left behind after a second, with a warning.
    pub fn join(&self) {
        // The lock is held meanwhile, so that a second caller waits for the same end.
        let mut threads = self.hub.loop_threads.lock().unwrap_or_else(PoisonError::into_inner);
        for thread in threads.drain(..) {
            if thread.join().is_err() {
                tracing::error!("an event loop ended with a panic");
            }
        }
        let left = self.hub.jobs.wait_until_ended(Instant::now() + BLOCKING_THREADS_END);
        if left > 0 {
            tracing::warn!(threads = left, "blocking threads hang in their calls and are left behind");
        }
    }

    /// Ends the first `started` loops after another could not be started.
    pub(crate) fn abandon_start(&self, started: usize) {
        for _ in started..self.hub.loops.len() {
            self.hub.loop_ended();
        }
        self.shutdown(Duration::ZERO);
        self.join();
    }
}

impl fmt::Debug for Handle {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Handle").field("bound", &self.hub.bound).field("counters", &self.counters()).finish()
    }
}
