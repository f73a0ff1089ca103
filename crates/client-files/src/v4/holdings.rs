//! Counts the state that a client holds at its server.

use std::sync::Weak;

use super::client::{Client, Inner};
use crate::HeldState;

/// Counts a client's state without keeping the client alive.
#[derive(Debug, Clone)]
pub(crate) struct Holdings(Weak<Inner>);

impl Client {
    /// A counter of the state held.
    pub(crate) fn holdings(&self) -> Holdings {
        Holdings(std::sync::Arc::downgrade(&self.0))
    }
}

impl Holdings {
    /// The state held now; nothing once the client is dropped.
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
