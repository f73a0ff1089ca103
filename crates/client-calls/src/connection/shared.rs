use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::Waker;

use tokio::sync::{Notify, Semaphore};

use crate::core::{Core, Failure};

/// The state that a connection's callers and its driver share.
#[derive(Debug)]
pub(super) struct Shared {
    state: Mutex<ConnectionState>,
    /// One permit per call that the core has room for.
    pub(super) permits: Semaphore,
    pub(super) server: Arc<str>,
    /// Whether there is a stream to send over; datagrams can always be sent.
    is_up: AtomicBool,
    /// Notified when the stream is lost; keeps the notice for a later listener.
    pub(super) lost: Arc<Notify>,
}

/// The locked state. The lock is held while one call is encoded or one batch is processed, never over a system call or
/// a wake.
#[derive(Debug)]
pub(super) struct ConnectionState {
    pub(super) core: Core,
    /// Wakes the driver. The first caller after a poll takes it, so that later callers need not wake the driver again.
    pub(super) driver: Option<Waker>,
    pub(super) is_closing: bool,
}

impl Shared {
    pub(super) fn new(core: Core, max_pending: usize, server: Arc<str>) -> Shared {
        let state = Mutex::new(ConnectionState { core, driver: None, is_closing: false });
        Shared {
            state,
            permits: Semaphore::new(max_pending),
            server,
            is_up: AtomicBool::new(true),
            lost: Arc::default(),
        }
    }

    /// The state, even after a panic under the lock: its calls still need their results.
    pub(super) fn lock(&self) -> MutexGuard<'_, ConnectionState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Sets whether there is a stream to send over.
    pub(super) fn set_up(&self, is_up: bool) {
        self.is_up.store(is_up, Ordering::Relaxed);
        if !is_up {
            self.lost.notify_one();
        }
    }

    pub(super) fn is_up(&self) -> bool {
        self.is_up.load(Ordering::Relaxed)
    }

    /// Ends every call: the driver has ended.
    pub(super) fn end(&self, wakers: &mut Vec<Waker>) {
        {
            let mut state = self.lock();
            state.is_closing = true;
            state.core.fail_all(Failure::Closed, wakers);
        }
        wake_all(wakers);
    }

    /// Asks the driver to end.
    pub(super) fn close(&self) {
        let driver = {
            let mut state = self.lock();
            state.is_closing = true;
            state.driver.take()
        };
        if let Some(driver) = driver {
            driver.wake();
        }
    }
}

/// Wakes the callers whose calls have ended, outside of the lock.
pub(super) fn wake_all(wakers: &mut Vec<Waker>) {
    wakers.drain(..).for_each(Waker::wake);
}
