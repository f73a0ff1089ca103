use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::Waker;

use tokio::sync::{Notify, Semaphore};

use crate::core::{Core, Failure};

/// What a connection's callers and its driver share.
#[derive(Debug)]
pub(super) struct Shared {
    state: Mutex<State>,
    /// One permit per call that the core has room for.
    pub(super) permits: Semaphore,
    pub(super) server: Arc<str>,
    /// Whether there is a stream to send over; datagrams can always be sent.
    is_up: AtomicBool,
    /// Told when the stream is lost; remembers it for one who asks later.
    pub(super) lost: Arc<Notify>,
}

/// What the lock guards. It is held for the time of one call's encoding or one batch's bookkeeping, never over a system
/// call or a wake.
#[derive(Debug)]
pub(super) struct State {
    pub(super) core: Core,
    /// Wakes the driver; taken by the first caller after it looked, so that later callers need not wake it again.
    pub(super) driver: Option<Waker>,
    pub(super) is_closing: bool,
}

impl Shared {
    pub(super) fn new(core: Core, max_pending: usize, server: Arc<str>) -> Shared {
        let state = Mutex::new(State { core, driver: None, is_closing: false });
        Shared {
            state,
            permits: Semaphore::new(max_pending),
            server,
            is_up: AtomicBool::new(true),
            lost: Arc::default(),
        }
    }

    /// The state. A panic while it was locked cannot have left it half changed in a way that memory safety cares for,
    /// and the calls that are in it still want their ends.
    pub(super) fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Notes whether there is a stream to send over.
    pub(super) fn set_up(&self, is_up: bool) {
        self.is_up.store(is_up, Ordering::Relaxed);
        if !is_up {
            self.lost.notify_one();
        }
    }

    pub(super) fn is_up(&self) -> bool {
        self.is_up.load(Ordering::Relaxed)
    }

    /// Ends every call: the driver is gone.
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

/// Wakes the callers whose calls are over, outside of the lock.
pub(super) fn wake_all(wakers: &mut Vec<Waker>) {
    wakers.drain(..).for_each(Waker::wake);
}
