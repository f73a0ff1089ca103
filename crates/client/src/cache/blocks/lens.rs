//! What the next small reads of a sequential reader find, beside the lock of all blocks.
//!
//! Whatever changes the file or one of its blocks closes the lens first, under that lock, and so does the end of the time for which the
//! file is known to be what is kept of it: what is in a lens holds for as long as it is there.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use bytes::{Buf, Bytes};
use tokio::runtime::Handle as Runtime;
use tokio::time::{Instant, sleep_until};

/// The most that is copied at a time, in bytes: whoever closes the lens waits for that.
const MAX_READ_BYTES: usize = 64 * 1024;

/// A part of a block that one reader is about to read on.
#[derive(Debug)]
pub(super) struct View {
    pub(super) reader: u32,
    /// Where the reader has come to in the file.
    pub(super) next: u64,
    /// What is there, for as long as it may be shown.
    pub(super) bytes: Bytes,
    /// Until when the file is known to be what is kept of it.
    pub(super) until: Instant,
}

/// The view of a file's newest reader, if it reads in order.
#[derive(Debug, Default)]
pub(super) struct Lens(Mutex<Inner>);

#[derive(Debug, Default)]
struct Inner {
    view: Option<View>,
    /// Whether a task takes what is seen away in time.
    is_watched: bool,
}

impl Lens {
    /// Fills `buffer` if all of it is in view, and nobody else looks at the moment.
    pub(super) fn read(&self, reader: u32, at: u64, buffer: &mut [u8]) -> bool {
        let Ok(mut inner) = self.0.try_lock() else { return false };
        let Some(view) = &mut inner.view else { return false };
        let count = buffer.len();
        let is_next = view.reader == reader && view.next == at;
        if !is_next || count == 0 || count > view.bytes.len().min(MAX_READ_BYTES) {
            return false;
        }
        buffer.copy_from_slice(&view.bytes[..count]);
        view.bytes.advance(count);
        view.next += count as u64;
        true
    }

    /// Shows what a reader will ask for.
    pub(super) fn open(&self, view: View) {
        self.lock().view = Some(view);
    }

    /// Shows nothing any more; how far which reader has come.
    pub(super) fn close(&self) -> Option<(u32, u64)> {
        self.lock().view.take().map(|view| (view.reader, view.next))
    }

    /// Sees to it that nothing is seen for longer than it may be.
    pub(super) fn watch(self: &Arc<Lens>, runtime: &Runtime) {
        if !std::mem::replace(&mut self.lock().is_watched, true) {
            let watch = Watch(Arc::clone(self));
            runtime.spawn(async move {
                while let Some(until) = watch.0.expire(Instant::now()) {
                    sleep_until(until).await;
                }
            });
        }
    }

    /// Hides what may not be seen from `now` on, or says until when it may.
    fn expire(&self, now: Instant) -> Option<Instant> {
        let mut inner = self.lock();
        let view = inner.view.as_mut().filter(|view| !view.bytes.is_empty())?;
        if now < view.until {
            return Some(view.until);
        }
        view.bytes = Bytes::new();
        None
    }

    fn lock(&self) -> MutexGuard<'_, Inner> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The task that watches a lens. When its runtime ends before the time is over, nothing is seen from then on.
struct Watch(Arc<Lens>);

impl Drop for Watch {
    fn drop(&mut self) {
        let mut inner = self.0.lock();
        inner.is_watched = false;
        inner.view.iter_mut().for_each(|view| view.bytes = Bytes::new());
    }
}
