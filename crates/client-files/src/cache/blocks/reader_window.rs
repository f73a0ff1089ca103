//! The reader window: bytes for the next small reads of a sequential reader, outside of the lock of all blocks.
//!
//! Every change of the file or of one of its blocks closes the window first, under that lock. Its bytes are hidden when
//! the last check of the file's attributes expires. So the bytes are valid for as long as they are there.

use super::ids::ReaderId;

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use bytes::{Buf, Bytes};
use tokio::runtime::Handle as Runtime;
use tokio::time::{Instant, sleep_until};

/// The largest read, in bytes: closing the window waits for its copy.
const MAX_READ_BYTES: usize = 64 * 1024;

/// A part of a block that one reader is about to read.
#[derive(Debug)]
pub(super) struct View {
    pub(super) reader: ReaderId,
    /// The reader's position in the file.
    pub(super) next: u64,
    /// The bytes there, as long as they may be shown.
    pub(super) bytes: Bytes,
    /// When the check of the file's attributes expires.
    pub(super) until: Instant,
}

/// The window of a file's newest sequential reader.
#[derive(Debug, Default)]
pub(super) struct ReaderWindow(Mutex<Inner>);

#[derive(Debug, Default)]
struct Inner {
    view: Option<View>,
    /// Whether a task hides the bytes when they expire.
    is_watched: bool,
}

impl ReaderWindow {
    /// Fills `buffer` if the window has all of it and nobody else uses the window now.
    pub(super) fn read(&self, reader: ReaderId, at: u64, buffer: &mut [u8]) -> bool {
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

    /// Opens the window.
    pub(super) fn open(&self, view: View) {
        self.lock().view = Some(view);
    }

    /// Closes the window. Returns its reader and the position reached.
    pub(super) fn close(&self) -> Option<(ReaderId, u64)> {
        self.lock().view.take().map(|view| (view.reader, view.next))
    }

    /// Starts the task that hides the bytes when they expire, unless it runs.
    pub(super) fn watch(self: &Arc<ReaderWindow>, runtime: &Runtime) {
        if !std::mem::replace(&mut self.lock().is_watched, true) {
            let watch = Watch(Arc::clone(self));
            runtime.spawn(async move {
                while let Some(until) = watch.0.expire(Instant::now()) {
                    sleep_until(until).await;
                }
            });
        }
    }

    /// Hides bytes that have expired at `now`, or returns when they do.
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

/// The task that expires a window. If its runtime ends earlier, the bytes are hidden at once.
struct Watch(Arc<ReaderWindow>);

impl Drop for Watch {
    fn drop(&mut self) {
        let mut inner = self.0.lock();
        inner.is_watched = false;
        inner.view.iter_mut().for_each(|view| view.bytes = Bytes::new());
    }
}
