//! Counting what a client holds at its server.

use std::sync::Weak;

use super::client::{Client, Inner};
use crate::HeldState;

/// Looks what a client holds, and does not keep it alive.
#[derive(Debug, Clone)]
pub(crate) struct Holdings(Weak<Inner>);

impl Client {
    /// What looks what is held, for as long as the client is there.
    pub(crate) fn holdings(&self) -> Holdings {
        Holdings(std::sync::Arc::downgrade(&self.0))
    }
}

impl Holdings {
    /// What is held now: nothing once the client is gone.
    pub(crate) fn now(&self) -> HeldState {
        let mut state = HeldState::default();
        let Some(client) = self.0.upgrade() else { return state };
        for file in client.opens.files() {
            let held = file.held();
            if held.owner.is_some() {
                let locks = held.locks.as_ref().map_or(0, |(_, locks)| locks.to_vec().len());
                state.add_open(held.is_delegated, locks as u64);
            }
        }
        state.delegations = client.delegations.all().len() as u64;
        state
    }
}
