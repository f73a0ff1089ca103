//! The connections of a session (RFC 8881 §2.10.3.1, §18.33, §18.34).

use crate::core::Core;
use crate::sync::lock;
use crate::{CallbackSecurity, ClientId, Direction, SessionId, State, StateError, StatusFlags};

impl State {
    /// BIND_CONN_TO_SESSION: binds a connection in one or both directions.
    ///
    /// # Errors
    /// [`StateError::BadSession`], or [`StateError::Resource`] when the session has too many connections.
    pub fn bind_connection(
        &self,
        session: &SessionId,
        connection: u64,
        direction: Direction,
    ) -> Result<Direction, StateError> {
        let mut core = self.core();
        let found = core.shared.sessions.get(session)?;
        core.shared.sessions.bind(session, &mut lock(&found.inner), connection, direction)?;
        core.callback_path_changed(found.client);
        Ok(direction)
    }

    /// BACKCHANNEL_CTL: replaces the callback program and its credentials.
    ///
    /// # Errors
    /// [`StateError::BadSession`], or [`StateError::Inval`] without a supported credential.
    pub fn backchannel_ctl(
        &self,
        session: &SessionId,
        program: u32,
        security: Vec<CallbackSecurity>,
    ) -> Result<(), StateError> {
        if !security.iter().any(|security| *security != CallbackSecurity::Gss) {
            return Err(StateError::Inval);
        }
        let found = self.shared.sessions.get(session)?;
        let mut inner = lock(&found.inner);
        inner.program = program;
        inner.security = security;
        Ok(())
    }

    /// Unbinds a closed connection from all sessions.
    pub fn connection_closed(&self, connection: u64) {
        let mut core = self.core();
        for session in core.shared.sessions.unbind(connection) {
            core.publish_callback_path(session.client);
        }
    }
}

impl Core {
    /// Publishes the callback paths and repeats recalls, since a path may have come up.
    pub(crate) fn callback_path_changed(&mut self, client: ClientId) {
        self.publish_callback_path(client);
        self.recall_again(client.number());
    }

    /// Updates the flags in SEQUENCE replies that report callback paths.
    pub(crate) fn publish_callback_path(&mut self, client: ClientId) {
        let Ok(client) = self.client(client) else { return };
        let Some(v41) = client.v41() else { return };
        let mut any = false;
        for session in v41.sessions.iter().filter_map(|id| self.shared.sessions.get(id).ok()) {
            let up = session.has_back_channel();
            any |= up;
            let mut inner = lock(&session.inner);
            match up {
                true => inner.flags &= !(StatusFlags::CB_PATH_DOWN_SESSION | StatusFlags::BACKCHANNEL_FAULT),
                false => inner.flags |= StatusFlags::CB_PATH_DOWN_SESSION,
            }
        }
        client.lease.set_flag(StatusFlags::CB_PATH_DOWN, !any);
    }

    pub(crate) fn can_call_back(&self, client: u32) -> bool {
        let Some(client) = self.clients.get(&client) else { return false };
        match &client.protocol {
            crate::client::Protocol::V40(v40) => v40.callback.is_some() && v40.callback_up,
            crate::client::Protocol::V41(_) => client.lease.flags() & StatusFlags::CB_PATH_DOWN == 0,
        }
    }
}
