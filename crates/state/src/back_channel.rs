//! The callback paths (RFC 8881 §2.10.3.1, RFC 7530 §16.33): the server's slots of a session's back channel, or the
//! address from an NFSv4.0 client.

use std::sync::Arc;

use crate::client::Protocol;
use crate::sync::lock;
use crate::{Callback40, CallbackSecurity, ClientId, Origin, Session, SessionId, State, StateError, StatusFlags};

/// The path for one callback to a client.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum CallbackRoute {
    /// A connection to the address that the client requested.
    V40(Callback40),
    /// The back channel of a session. End it with [`State::callback_done`].
    V41 {
        /// The session.
        session: SessionId,
        /// The connection to send on.
        connection: u64,
        /// The minor version of NFSv4.
        minor_version: u32,
        /// The callback program's number.
        program: u32,
        /// The credential of the server.
        security: CallbackSecurity,
        /// The slot.
        slot: u32,
        /// The request's sequence number on the slot.
        sequence: u32,
        /// The highest slot in use, for CB_SEQUENCE.
        highest_slot: u32,
    },
}

/// The end of a callback.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CallbackOutcome {
    /// The client answered, with success or an error.
    Answered,
    /// It was not sent, because the connection was closed.
    NotSent,
    /// It timed out, or the answer made no sense.
    Failed,
}

impl State {
    /// The callback path to `client`; takes a slot of the back channel.
    ///
    /// # Errors
    /// [`StateError::StaleClientid`] for a client that does not exist, [`StateError::CbPathDown`] when no path is
    /// bound, [`StateError::Delay`] when all slots are in use.
    pub fn callback_route(&self, client: ClientId) -> Result<CallbackRoute, StateError> {
        let sessions = {
            let core = self.core();
            match &core.client(client)?.protocol {
                Protocol::V40(v40) => {
                    return v40.callback.clone().map(CallbackRoute::V40).ok_or(StateError::CbPathDown);
                }
                Protocol::V41(v41) => v41.sessions.clone(),
            }
        };
        let mut answer = StateError::CbPathDown;
        // The newest session first: the connection of an older one may already be closed.
        for session in sessions.iter().rev().filter_map(|id| self.shared.sessions.get(id).ok()) {
            match route(&session) {
                Ok(route) => return Ok(route),
                Err(StateError::Delay) => answer = StateError::Delay,
                Err(_) => {}
            }
        }
        Err(answer)
    }

    /// Whether `client` has a callback path, which may be busy.
    pub fn can_call_back(&self, client: ClientId) -> bool {
        let route = self.callback_route(client);
        if let Ok(CallbackRoute::V41 { session, slot, .. }) = &route {
            self.callback_done(session, *slot, CallbackOutcome::NotSent);
        }
        matches!(route, Ok(_) | Err(StateError::Delay))
    }

    /// The origin of `client`; `None` if it does not exist.
    pub fn origin(&self, client: ClientId) -> Option<Origin> {
        self.core().client(client).ok().map(|client| client.account.origin)
    }

    /// Whether `client` exists and its lease has not ended.
    pub fn has_client(&self, client: ClientId) -> bool {
        self.core().client(client).is_ok_and(|client| !client.lease.has_ended())
    }

    /// Releases the slot of a callback, and records whether the back channel works.
    pub fn callback_done(&self, session: &SessionId, slot: u32, outcome: CallbackOutcome) {
        let Ok(session) = self.shared.sessions.get(session) else { return };
        let mut inner = lock(&session.inner);
        inner.back_slots.end(slot, outcome != CallbackOutcome::NotSent);
        match outcome {
            CallbackOutcome::Answered => inner.flags &= !StatusFlags::BACKCHANNEL_FAULT,
            CallbackOutcome::NotSent => {}
            CallbackOutcome::Failed => inner.flags |= StatusFlags::BACKCHANNEL_FAULT,
        }
    }

    /// Records whether an NFSv4.0 client can be called back. A client without a path gets no delegations, and while it
    /// holds one, RENEW reports the failure (RFC 7530 §16.27.4).
    pub fn callback_path_40(&self, client: ClientId, up: bool) {
        if let Ok(Protocol::V40(v40)) = self.core().client_mut(client).map(|client| &mut client.protocol) {
            v40.callback_up = up;
        }
    }
}

fn route(session: &Arc<Session>) -> Result<CallbackRoute, StateError> {
    let mut guard = lock(&session.inner);
    let inner = &mut *guard;
    let back = inner.connections.iter().rev().find(|(_, direction)| direction.is_back());
    let &(connection, _) = back.ok_or(StateError::CbPathDown)?;
    // The first supported flavour; the client listed them by preference (RFC 8881 §18.36.3).
    let security = inner.security.iter().find(|s| **s != CallbackSecurity::Gss).ok_or(StateError::CbPathDown)?.clone();
    let (slot, sequence) = inner.back_slots.begin().ok_or(StateError::Delay)?;
    let highest_slot = inner.back_slots.highest();
    Ok(CallbackRoute::V41 {
        session: session.id,
        connection,
        minor_version: session.minor_version,
        program: inner.program,
        security,
        slot,
        sequence,
        highest_slot,
    })
}
