//! The threads that carry on copies of NFSv4.2 behind the replies to COPY.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::{self, JoinHandle, Thread};
use std::time::Duration;

use crate::service::Programs;

/// How long a thread sleeps at the most: copies that were put off are tried again without anybody waking it.
const LONGEST_SLEEP: Duration = Duration::from_secs(1);

/// The threads, until they are stopped.
pub(crate) struct Copiers {
    is_stopped: Arc<AtomicBool>,
    threads: Mutex<Vec<JoinHandle<()>>>,
}

impl Copiers {
    /// How many threads there are: two copies make progress at the same time.
    pub(crate) const THREADS: usize = 2;

    /// Starts the threads, whose workers' numbers begin with `first_worker`.
    pub(crate) fn start(programs: &Arc<Programs>, first_worker: usize) -> std::io::Result<Copiers> {
        let copiers = Copiers { is_stopped: Arc::default(), threads: Mutex::default() };
        for number in 0..Self::THREADS {
            let (programs, is_stopped) = (programs.clone(), copiers.is_stopped.clone());
            let name = format!("copy {number}");
            let run = move || copy(&programs, first_worker + number, &is_stopped);
            copiers.lock().push(thread::Builder::new().name(name).spawn(run)?);
        }
        let threads: Vec<Thread> = copiers.lock().iter().map(|thread| thread.thread().clone()).collect();
        programs.server.set_copy_waker(move || threads.iter().for_each(Thread::unpark));
        Ok(copiers)
    }

    /// Ends the threads, each after the turn of a copy that it is at, and waits for them.
    pub(crate) fn stop(&self) {
        self.is_stopped.store(true, Ordering::Release);
        for thread in self.lock().drain(..) {
            thread.thread().unpark();
            if thread.join().is_err() {
                tracing::error!("a copying thread panicked");
            }
        }
    }

    fn lock(&self) -> MutexGuard<'_, Vec<JoinHandle<()>>> {
        self.threads.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Copiers {
    fn drop(&mut self) {
        self.stop();
    }
}

fn copy(programs: &Programs, worker: usize, is_stopped: &AtomicBool) {
    while !is_stopped.load(Ordering::Acquire) {
        // A defect ends the one copy that met it.
        let carried_on = catch_unwind(AssertUnwindSafe(|| programs.carry_on_copy(worker))).unwrap_or_else(|_| {
            tracing::error!("a copy failed because of a bug in the server");
            true
        });
        if !carried_on {
            thread::park_timeout(LONGEST_SLEEP);
        }
    }
}
