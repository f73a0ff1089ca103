//! Divides long work into small steps, so that other calls do not wait for it. An event loop takes the first step, and
//! a thread that may block takes the others.

use std::time::Duration;

use state::StateError;

use crate::fault::Fault;
use crate::node::CallContext;

/// The pause between two steps. Without it, the thread that takes the steps would acquire the mutex again before any
/// waiting thread, since mutexes are not fair.
pub(crate) const BETWEEN_STEPS: Duration = Duration::from_micros(200);

impl CallContext<'_> {
    /// Takes steps until one is the last, and returns its result.
    #[inline]
    pub(crate) fn in_steps<T>(
        &self,
        mut step: impl FnMut() -> Result<T, StateError>,
    ) -> Result<Result<T, StateError>, Fault> {
        loop {
            match step() {
                Err(StateError::Unfinished) if !self.request.may_block => return Err(Fault::Defer),
                Err(StateError::Unfinished) => (self.server.settings.pause)(BETWEEN_STEPS),
                finished => return Ok(finished),
            }
        }
    }
}
