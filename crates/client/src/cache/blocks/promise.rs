//! What a server promises of a file, and what follows from it for own writes.

use std::fmt::Debug;
use std::sync::Arc;

use super::state::{FileState, State};

/// That nobody else changes a file (RFC 8881 §10.4).
pub(crate) trait Promise: Debug + Send + Sync {
    /// Whether it has held until now, from when it was given.
    fn holds(&self) -> bool;
}

impl State {
    /// Notes that what becomes of a file from now on is explained by own writes, for as long as `promise` holds. Says no where something
    /// hangs on an earlier promise that does not.
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
    /// Whether somebody else may have changed the file although own writes were taken for all that did.
    pub(super) fn is_promise_broken(&self) -> bool {
        self.promise.as_ref().is_some_and(|promise| !promise.holds())
    }
}
