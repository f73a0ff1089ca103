//! Work that takes long in small steps, so that nobody else waits for it: an event loop does the first step, and a
//! thread that may wait the others.

use std::time::Duration;

use state::StateError;

use crate::fault::Fault;
use crate::node::CallContext;

/// How long others have between two steps. A mutex is not fair: without a pause, whoever takes the steps would take it
/// again before anybody who waits for it.
pub(crate) const BETWEEN_STEPS: Duration = Duration::from_micros(200);

impl CallContext<'_> {
    /// Takes steps for as long as they say that there are more.
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
