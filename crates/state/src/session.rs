//! Sessions (RFC 8881 §2.10): slots, channels and connections. Each session has its own mutex.

use std::sync::{Arc, Mutex, RwLock};

use crate::back_slots::BackSlots;
use crate::lease::Lease;
use crate::limits::CONNECTIONS_PER_SESSION;
use crate::slot::SessionSlot;
use crate::sync::{lock, read, write};
use crate::{ClientId, SessionId, StateError};

const SHARDS: usize = 64;

/// The attributes of one channel (RFC 8881 §18.36.3).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ChannelAttributes {
    /// The largest request, in bytes.
    pub max_request_bytes: u32,
    /// The largest reply, in bytes.
    pub max_response_bytes: u32,
    /// The largest reply that is cached, in bytes.
    pub max_response_cached_bytes: u32,
    /// The most operations of one request.
    pub max_operations: u32,
    /// The number of slots.
    pub max_requests: u32,
}

/// The direction of requests on a connection (RFC 8881 §18.34).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Direction {
    /// From the client.
    Fore,
    /// From the server.
    Back,
    /// Both directions.
    Both,
}

impl Direction {
    pub(crate) fn is_back(self) -> bool {
        self != Direction::Fore
    }

    fn with(self, other: Direction) -> Direction {
        if self == other { self } else { Direction::Both }
    }
}

/// The server's credential in callbacks.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum CallbackSecurity {
    /// AUTH_NONE.
    None,
    /// AUTH_SYS with these encoded parameters.
    Sys(Box<[u8]>),
    /// RPCSEC_GSS, which this server does not support.
    Gss,
}

/// The result of CREATE_SESSION.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CreatedSession {
    /// The session.
    pub session: SessionId,
    /// The sequence number of the request.
    pub sequence: u32,
    /// Whether the connection carries callbacks.
    pub back_channel: bool,
    /// The negotiated fore channel.
    pub fore: ChannelAttributes,
    /// The negotiated back channel.
    pub back: ChannelAttributes,
}

/// One session.
#[derive(Debug)]
pub struct Session {
    pub(crate) id: SessionId,
    pub(crate) client: ClientId,
    /// The owner string and verifier of the client (`client_owner4`).
    pub(crate) owner: (Arc<[u8]>, [u8; 8]),
    pub(crate) lease: Arc<Lease>,
    pub(crate) fore: ChannelAttributes,
    pub(crate) back: ChannelAttributes,
    /// The minor version of NFSv4.
    pub(crate) minor_version: u32,
    pub(crate) always_cached_bytes: u32,
    pub(crate) inner: Mutex<SessionState>,
}

#[derive(Debug)]
pub(crate) struct SessionState {
    pub slots: Vec<SessionSlot>,
    /// The number of slots that count for the session's origin.
    pub counted_slots: usize,
    /// The number of slots that the session should have.
    pub target: u32,
    /// The SEQUENCE flags of this session only.
    pub flags: u32,
    pub dead: bool,
    pub connections: Vec<(u64, Direction)>,
    pub program: u32,
    pub security: Vec<CallbackSecurity>,
    pub back_slots: BackSlots,
}

impl Session {
    /// The session's ID.
    pub fn id(&self) -> SessionId {
        self.id
    }

    /// The client that the session belongs to.
    pub fn client(&self) -> ClientId {
        self.client
    }

    /// The owner string and verifier of the client, equal in all its sessions and after a restart of the server (RFC
    /// 8881 §2.4).
    pub fn owner(&self) -> (&[u8], [u8; 8]) {
        (&self.owner.0, self.owner.1)
    }

    /// The minor version of NFSv4 that the session was created in.
    pub fn minor_version(&self) -> u32 {
        self.minor_version
    }

    /// The negotiated attributes of the fore channel.
    pub fn fore(&self) -> &ChannelAttributes {
        &self.fore
    }

    /// The negotiated attributes of the back channel.
    pub fn back(&self) -> &ChannelAttributes {
        &self.back
    }

    pub(crate) fn has_back_channel(&self) -> bool {
        let inner = lock(&self.inner);
        !inner.dead && inner.connections.iter().any(|(_, direction)| direction.is_back())
    }
}

impl SessionState {
    /// Whether a connection is bound to the fore channel.
    #[inline]
    pub(crate) fn has_fore(&self, connection: u64) -> bool {
        self.connections.iter().any(|(id, direction)| *id == connection && *direction != Direction::Back)
    }

    pub(crate) fn is_bound(&self, connection: u64) -> bool {
        self.connections.iter().any(|(id, _)| *id == connection)
    }
}

type SessionShard = foldhash::HashMap<SessionId, Arc<Session>>;

/// All sessions, in shards, and the sessions of each connection.
///
/// A session is locked before an entry of `bound`, never after it.
#[derive(Debug)]
pub(crate) struct SessionTable {
    shards: Vec<RwLock<SessionShard>>,
    /// The sessions that a connection is bound to, so that its end visits no others.
    bound: Mutex<foldhash::HashMap<u64, foldhash::HashSet<SessionId>>>,
}

impl SessionTable {
    pub(crate) fn new() -> SessionTable {
        SessionTable { shards: (0..SHARDS).map(|_| RwLock::default()).collect(), bound: Mutex::default() }
    }

    #[inline]
    pub(crate) fn get(&self, id: &SessionId) -> Result<Arc<Session>, StateError> {
        read(self.shard(id)).get(id).cloned().ok_or(StateError::BadSession)
    }

    /// Adds a session with its connections.
    pub(crate) fn insert(&self, session: Arc<Session>) {
        let id = session.id;
        let connections = lock(&session.inner).connections.clone();
        write(self.shard(&id)).insert(id, session);
        connections.iter().for_each(|(connection, _)| self.note_bound(*connection, id));
    }

    pub(crate) fn remove(&self, id: &SessionId) -> Option<Arc<Session>> {
        let session = write(self.shard(id)).remove(id)?;
        let mut inner = lock(&session.inner);
        inner.dead = true;
        for (connection, _) in inner.connections.drain(..) {
            self.note_unbound(connection, id);
        }
        drop(inner);
        Some(session)
    }

    /// Binds a connection to the session of `inner`, or adds a direction to a bound one.
    ///
    /// # Errors
    /// [`StateError::Resource`] when the session has too many connections, [`StateError::BadSession`] after its end.
    pub(crate) fn bind(
        &self,
        session: &SessionId,
        inner: &mut SessionState,
        connection: u64,
        direction: Direction,
    ) -> Result<(), StateError> {
        if let Some((_, bound)) = inner.connections.iter_mut().find(|(id, _)| *id == connection) {
            *bound = bound.with(direction);
            return Ok(());
        }
        if inner.dead {
            return Err(StateError::BadSession);
        }
        if inner.connections.len() >= CONNECTIONS_PER_SESSION {
            return Err(StateError::Resource);
        }
        self.note_bound(connection, *session);
        inner.connections.push((connection, direction));
        Ok(())
    }

    /// Unbinds `connection` from all sessions, and returns these sessions.
    pub(crate) fn unbind(&self, connection: u64) -> Vec<Arc<Session>> {
        let ids = lock(&self.bound).remove(&connection).unwrap_or_default();
        let sessions = ids.iter().filter_map(|id| self.get(id).ok());
        sessions.filter(|session| Self::unbind_one(session, connection)).collect()
    }

    fn unbind_one(session: &Session, connection: u64) -> bool {
        let mut inner = lock(&session.inner);
        let before = inner.connections.len();
        inner.connections.retain(|(id, _)| *id != connection);
        inner.connections.len() < before
    }

    fn note_bound(&self, connection: u64, session: SessionId) {
        lock(&self.bound).entry(connection).or_default().insert(session);
    }

    fn note_unbound(&self, connection: u64, session: &SessionId) {
        let mut bound = lock(&self.bound);
        if let Some(sessions) = bound.get_mut(&connection) {
            sessions.remove(session);
            if sessions.is_empty() {
                bound.remove(&connection);
            }
        }
    }

    fn shard(&self, id: &SessionId) -> &RwLock<SessionShard> {
        &self.shards[id.number() as usize % SHARDS]
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    const CLIENT: ClientId = ClientId(7);
    const CHANNEL: ChannelAttributes = ChannelAttributes {
        max_request_bytes: 4096,
        max_response_bytes: 4096,
        max_response_cached_bytes: 4096,
        max_operations: 8,
        max_requests: 1,
    };

    fn session(number: u64, connection: u64) -> Arc<Session> {
        let inner = SessionState {
            slots: vec![SessionSlot::default()],
            counted_slots: 1,
            target: 1,
            flags: 0,
            dead: false,
            connections: vec![(connection, Direction::Fore)],
            program: 0,
            security: Vec::new(),
            back_slots: BackSlots::new(1),
        };
        Arc::new(Session {
            id: SessionId::new(CLIENT, number),
            client: CLIENT,
            owner: (Arc::from(&b"owner"[..]), [0; 8]),
            lease: Arc::new(Lease::new(Duration::ZERO)),
            fore: CHANNEL,
            back: CHANNEL,
            minor_version: 1,
            always_cached_bytes: 0,
            inner: Mutex::new(inner),
        })
    }

    fn bind(table: &SessionTable, session: &Session, connection: u64) -> Result<(), StateError> {
        table.bind(&session.id, &mut lock(&session.inner), connection, Direction::Both)
    }

    #[test]
    fn end_of_a_connection_unbinds_it_from_its_sessions() {
        let (table, sessions) = (SessionTable::new(), [session(1, 10), session(2, 10), session(3, 11)]);
        sessions.iter().for_each(|session| table.insert(Arc::clone(session)));
        bind(&table, &sessions[0], 12).unwrap();
        bind(&table, &sessions[0], 10).unwrap();
        let mut unbound: Vec<u64> = table.unbind(10).iter().map(|session| session.id.number()).collect();
        unbound.sort_unstable();
        assert_eq!(unbound, [1, 2]);
        assert_eq!(lock(&sessions[0].inner).connections, [(12, Direction::Both)]);
        assert!(table.unbind(10).is_empty(), "it is unbound already");
        assert_eq!(table.unbind(12).len(), 1);
    }

    #[test]
    fn nothing_stays_of_a_session_that_ended() {
        let (table, session) = (SessionTable::new(), session(1, 10));
        table.insert(Arc::clone(&session));
        bind(&table, &session, 11).unwrap();
        table.remove(&session.id).unwrap();
        assert!(lock(&table.bound).is_empty());
        assert_eq!(bind(&table, &session, 12), Err(StateError::BadSession));
        assert!(lock(&table.bound).is_empty());
    }

    #[test]
    fn connection_beyond_the_limit_is_not_noted() {
        let (table, session) = (SessionTable::new(), session(1, 0));
        table.insert(Arc::clone(&session));
        (1..CONNECTIONS_PER_SESSION as u64).for_each(|connection| bind(&table, &session, connection).unwrap());
        assert_eq!(bind(&table, &session, 1000), Err(StateError::Resource));
        assert_eq!(lock(&table.bound).len(), CONNECTIONS_PER_SESSION);
    }
}
