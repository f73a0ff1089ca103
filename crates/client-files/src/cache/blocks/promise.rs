//! A server's promise about a file, and its effect on own writes.

use std::fmt::Debug;
use std::sync::Arc;

use super::state::{FileState, State};

/// The promise that nobody else changes a file (RFC 8881 §10.4).
pub(crate) trait Promise: Debug + Send + Sync {
    /// Whether it has held since it was given.
    fn holds(&self) -> bool;
}

impl State {
    /// Takes own writes as the cause of every change of the file, for as long as `promise` holds. Returns `false` if an
    /// earlier promise in use is broken.
    pub(super) fn rely_on(&mut self, file: u32, promise: Arc<dyn Promise>) -> bool {
        let state = self.file(file);
        let is_sound = !state.is_promise_broken();
        if is_sound {
            state.promise = Some(promise);
        }
        is_sound
    }
}

impl FileState {
    /// Whether somebody else may have changed the file while own writes were taken for the only ones.
    pub(super) fn is_promise_broken(&self) -> bool {
        self.promise.as_ref().is_some_and(|promise| !promise.holds())
    }
}
