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
    /// Takes steps until one returns `false`.
    pub(crate) fn in_steps<E>(&self, mut step: impl FnMut() -> Result<bool, StateError>) -> Result<(), E>
    where
        E: From<StateError> + From<Fault>,
    {
        while step()? {
            if !self.request.may_block {
                return Err(Fault::Defer.into());
            }
            (self.server.settings.pause)(BETWEEN_STEPS);
        }
        Ok(())
    }
}
