//! The threads that carry out asynchronous copies of NFSv4.2 (COPY).

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::{self, JoinHandle, Thread};
use std::time::Duration;

use crate::service::Programs;

/// The longest sleep of a thread: postponed copies are retried without a wake-up.
const LONGEST_SLEEP: Duration = Duration::from_secs(1);

/// The copying threads.
pub(crate) struct Copiers {
    is_stopped: Arc<AtomicBool>,
    threads: Mutex<Vec<JoinHandle<()>>>,
}

impl Copiers {
    /// The number of threads: two copies make progress at the same time.
    pub(crate) const THREADS: usize = 2;

    /// Starts the threads; their workers have the numbers from `first_worker` on.
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

    /// Stops the threads, each after its current step of a copy, and waits for them.
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
        // A panic ends only the copy that caused it.
        let carried_on = catch_unwind(AssertUnwindSafe(|| programs.carry_on_copy(worker))).unwrap_or_else(|_| {
            tracing::error!("a copy failed because of a bug in the server");
            true
        });
        if !carried_on {
            thread::park_timeout(LONGEST_SLEEP);
        }
    }
}
