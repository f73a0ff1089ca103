//! Sessions (RFC 8881 §2.10): slots, channels and connections. Each session has its own mutex.

use std::sync::{Arc, Mutex, RwLock};

use crate::back_channel::BackSlots;
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
    /// Binds a connection, or adds a direction to a bound one.
    pub(crate) fn bind(&mut self, connection: u64, direction: Direction) -> Result<(), StateError> {
        if let Some((_, bound)) = self.connections.iter_mut().find(|(id, _)| *id == connection) {
            *bound = bound.with(direction);
            return Ok(());
        }
        if self.connections.len() >= CONNECTIONS_PER_SESSION {
            return Err(StateError::Resource);
        }
        self.connections.push((connection, direction));
        Ok(())
    }

    pub(crate) fn is_bound(&self, connection: u64) -> bool {
        self.connections.iter().any(|(id, _)| *id == connection)
    }
}

type SessionShard = foldhash::HashMap<SessionId, Arc<Session>>;

/// All sessions, in shards.
#[derive(Debug)]
pub(crate) struct SessionTable {
    shards: Vec<RwLock<SessionShard>>,
}

impl SessionTable {
    pub(crate) fn new() -> SessionTable {
        SessionTable { shards: (0..SHARDS).map(|_| RwLock::default()).collect() }
    }

    pub(crate) fn get(&self, id: &SessionId) -> Result<Arc<Session>, StateError> {
        read(self.shard(id)).get(id).cloned().ok_or(StateError::BadSession)
    }

    pub(crate) fn insert(&self, session: Arc<Session>) {
        write(self.shard(&session.id)).insert(session.id, session);
    }

    pub(crate) fn remove(&self, id: &SessionId) -> Option<Arc<Session>> {
        let session = write(self.shard(id)).remove(id)?;
        lock(&session.inner).dead = true;
        Some(session)
    }

    /// Unbinds `connection` from all sessions, and returns these sessions.
    pub(crate) fn unbind(&self, connection: u64) -> Vec<Arc<Session>> {
        let mut unbound = Vec::new();
        for shard in &self.shards {
            unbound.extend(read(shard).values().filter(|s| Self::unbind_one(s, connection)).cloned());
        }
        unbound
    }

    fn unbind_one(session: &Session, connection: u64) -> bool {
        let mut inner = lock(&session.inner);
        let before = inner.connections.len();
        inner.connections.retain(|(id, _)| *id != connection);
        inner.connections.len() < before
    }

    fn shard(&self, id: &SessionId) -> &RwLock<SessionShard> {
        &self.shards[id.number() as usize % SHARDS]
    }
}
