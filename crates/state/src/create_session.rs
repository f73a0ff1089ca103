//! CREATE_SESSION and DESTROY_SESSION (RFC 8881 §18.36, §18.37).

use std::sync::{Arc, Mutex};
use std::time::Duration;

use crate::back_slots::BackSlots;
use crate::client::Client;
use crate::core::Core;
use crate::limits::{MIN_OPERATIONS, MIN_REQUEST_BYTES, MIN_RESPONSE_BYTES};
use crate::origin::Sessions;
use crate::session::{ChannelAttributes, CreatedSession, Direction, Session, SessionState};
use crate::sync::lock;
use crate::{CallbackSecurity, ClientId, Limits, Origin, Principal, SessionId, State, StateError, StatusFlags};

/// The arguments of CREATE_SESSION.
#[derive(Debug, Clone)]
pub struct CreateSessionArgs {
    /// The client ID from EXCHANGE_ID.
    pub client: ClientId,
    /// The sequence number of this CREATE_SESSION.
    pub sequence: u32,
    /// The fore channel that the client requests.
    pub fore: ChannelAttributes,
    /// The back channel that the client offers.
    pub back: ChannelAttributes,
    /// Whether the connection should also carry callbacks (CREATE_SESSION4_FLAG_CONN_BACK_CHAN), and can.
    pub back_channel: bool,
    /// The minor version of the session and its callbacks.
    pub minor_version: u32,
    /// The callback program's number.
    pub program: u32,
    /// The credentials that the server may use in callbacks.
    pub security: Vec<CallbackSecurity>,
    /// The connection of the request.
    pub connection: u64,
    /// The principal of the request.
    pub principal: Principal,
}

impl State {
    /// CREATE_SESSION: confirms a client ID and creates a session (RFC 8881 §18.36.4). A retransmission gets the same
    /// reply; a failed request does not use its sequence number.
    ///
    /// # Errors
    /// [`StateError::StaleClientid`], `SeqMisordered`, `ClidInUse`, `TooSmall`, `Resource` or `Records`.
    pub fn create_session(&self, now: Duration, args: &CreateSessionArgs) -> Result<CreatedSession, StateError> {
        self.with_room_for(now, args.client, |core| core.next_session(now, args))
    }

    /// DESTROY_SESSION, sent over `connection`.
    ///
    /// # Errors
    /// [`StateError::BadSession`], or [`StateError::ConnNotBoundToSession`] (RFC 8881 §18.37.3).
    pub fn destroy_session(&self, session: &SessionId, connection: u64) -> Result<(), StateError> {
        let mut core = self.core();
        let found = core.shared.sessions.get(session)?;
        if !lock(&found.inner).is_bound(connection) {
            return Err(StateError::ConnNotBoundToSession);
        }
        core.drop_session(session);
        core.publish_callback_path(found.client);
        Ok(())
    }

    /// The session of this ID, for its limits.
    ///
    /// # Errors
    /// [`StateError::BadSession`].
    pub fn session(&self, session: &SessionId) -> Result<Arc<Session>, StateError> {
        self.shared.sessions.get(session)
    }
}

impl Core {
    fn next_session(&mut self, now: Duration, args: &CreateSessionArgs) -> Result<CreatedSession, StateError> {
        let client = self.client(args.client)?;
        let v41 = client.v41().ok_or(StateError::StaleClientid)?;
        if args.sequence.wrapping_add(1) == v41.next_create {
            return v41.last_created.clone().ok_or(StateError::SeqMisordered);
        }
        if args.sequence != v41.next_create {
            return Err(StateError::SeqMisordered);
        }
        // A confirmed client may use another principal's credential; an unconfirmed one may not.
        if !client.confirmed && client.principal != args.principal {
            return Err(StateError::ClidInUse);
        }
        self.create_session(now, args)
    }

    fn create_session(&mut self, now: Duration, args: &CreateSessionArgs) -> Result<CreatedSession, StateError> {
        let mut fore = negotiate_fore(&args.fore, self.limits())?;
        let back = negotiate_back(&args.back)?;
        let per_client = self.limits().sessions_per_client;
        if self.client(args.client)?.v41().is_some_and(|v41| v41.sessions.len() >= per_client) {
            return Err(StateError::Resource);
        }
        fore.max_requests = fore.max_requests.min(self.room_for_session(args.client, &fore)?);
        self.confirm(now, args.client)?;
        let session = self.new_session(args, fore, back)?;
        let held = Sessions::of(fore.max_requests as usize, &fore, self.limits());
        self.origins.add_session(self.client(args.client)?.account.origin, held);
        let created = CreatedSession {
            session: session.id,
            sequence: args.sequence,
            back_channel: args.back_channel,
            fore,
            back,
        };
        self.shared.sessions.insert(session);
        if let Some(v41) = self.client_mut(args.client)?.v41_mut() {
            v41.next_create = v41.next_create.wrapping_add(1);
            v41.last_created = Some(created.clone());
            v41.sessions.push(created.session);
        }
        self.callback_path_changed(args.client);
        Ok(created)
    }

    /// Makes this client ID the one of its owner. An earlier one is from before a restart of the client, and its state
    /// is removed now.
    pub(crate) fn confirm(&mut self, now: Duration, id: ClientId) -> Result<(), StateError> {
        let client = self.client(id)?;
        client.lease.renew(now);
        if client.confirmed {
            return Ok(());
        }
        let is_v40 = client.is_v40();
        let name = Arc::clone(&client.name);
        let names = if is_v40 { &self.names40 } else { &self.names41 };
        if let Some(old) = names.get(&name).and_then(|names| names.confirmed) {
            self.release_record(old);
            self.drop_client(old);
        }
        let names = if is_v40 { &mut self.names40 } else { &mut self.names41 };
        let entry = names.entry(name).or_default();
        entry.confirmed = Some(id);
        entry.unconfirmed = None;
        let client = self.client_mut(id)?;
        client.confirmed = true;
        let origin = client.account.origin;
        self.origins.confirm(origin, id.number());
        self.welcome(now, id);
        Ok(())
    }

    fn new_session(
        &mut self,
        args: &CreateSessionArgs,
        fore: ChannelAttributes,
        back: ChannelAttributes,
    ) -> Result<Arc<Session>, StateError> {
        let client = self.client(args.client)?;
        let (lease, owner) = (Arc::clone(&client.lease), (Arc::clone(&client.name), client.verifier));
        self.last_session += 1;
        let direction = if args.back_channel { Direction::Both } else { Direction::Fore };
        let inner = SessionState {
            slots: (0..fore.max_requests).map(|_| Default::default()).collect(),
            counted_slots: fore.max_requests as usize,
            target: fore.max_requests,
            flags: if args.back_channel { 0 } else { StatusFlags::CB_PATH_DOWN_SESSION },
            dead: false,
            connections: vec![(args.connection, direction)],
            program: args.program,
            security: args.security.clone(),
            back_slots: BackSlots::new(back.max_requests),
        };
        Ok(Arc::new(Session {
            id: SessionId::new(args.client, self.last_session),
            client: args.client,
            owner,
            lease,
            fore,
            back,
            minor_version: args.minor_version,
            always_cached_bytes: self.limits().always_cached_bytes,
            inner: Mutex::new(inner),
        }))
    }

    pub(crate) fn drop_session(&mut self, id: &SessionId) {
        let Ok(client) = self.shared.sessions.get(id).map(|session| session.client) else { return };
        let Ok(origin) = self.client(client).map(|client| client.account.origin) else { return };
        self.end_session(origin, id);
        if let Some(v41) = self.client_mut(client).ok().and_then(Client::v41_mut) {
            v41.sessions.retain(|session| session != id);
        }
    }

    /// Ends a session of a client from `origin`.
    pub(crate) fn end_session(&mut self, origin: Origin, id: &SessionId) {
        let Some(session) = self.shared.sessions.remove(id) else { return };
        let held = Sessions::of(lock(&session.inner).counted_slots, &session.fore, self.limits());
        self.origins.remove_session(origin, held);
    }
}

/// Negotiates the fore channel: the client's values, reduced to the limits.
fn negotiate_fore(asked: &ChannelAttributes, limits: &Limits) -> Result<ChannelAttributes, StateError> {
    if asked.max_request_bytes < MIN_REQUEST_BYTES
        || asked.max_response_bytes < MIN_RESPONSE_BYTES
        || asked.max_operations < MIN_OPERATIONS
        || asked.max_requests == 0
    {
        return Err(StateError::TooSmall);
    }
    let max_response_bytes = asked.max_response_bytes.min(limits.response_bytes);
    let cached = asked.max_response_cached_bytes.min(limits.cached_response_bytes).min(max_response_bytes);
    let slots_that_fit = limits.reply_cache_bytes_per_session / cached.max(limits.always_cached_bytes).max(1);
    Ok(ChannelAttributes {
        max_request_bytes: asked.max_request_bytes.min(limits.request_bytes),
        max_response_bytes,
        max_response_cached_bytes: cached,
        max_operations: asked.max_operations.min(limits.operations),
        max_requests: asked.max_requests.min(limits.slots_per_session).min(slots_that_fit).max(1),
    })
}

/// Checks the back channel: a CB_SEQUENCE and a CB_RECALL must fit.
fn negotiate_back(offered: &ChannelAttributes) -> Result<ChannelAttributes, StateError> {
    if offered.max_request_bytes < MIN_REQUEST_BYTES
        || offered.max_response_bytes < MIN_RESPONSE_BYTES
        || offered.max_operations < MIN_OPERATIONS
        || offered.max_requests == 0
    {
        return Err(StateError::TooSmall);
    }
    Ok(*offered)
}
