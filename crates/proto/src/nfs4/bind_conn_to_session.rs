//! BIND_CONN_TO_SESSION binds a connection to a session (RFC 8881 §18.34).

use xdr::{Decode, Encode};

use super::{CompoundOperation, OpNumber, Res, SessionId};

/// What BIND_CONN_TO_SESSION needs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Encode, Decode)]
pub struct BindConnToSessionArgs {
    /// The session.
    pub session: SessionId,
    /// For which channel the client wants to use the connection.
    pub direction: ClientDirection,
    /// Whether to use RDMA on it.
    pub use_rdma: bool,
}

/// For which channel a client wants to use a connection (`channel_dir_from_client4`).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Encode, Decode)]
pub enum ClientDirection {
    /// For its requests.
    Fore = 1,
    /// For callbacks.
    Back = 2,
    /// For its requests, and if possible for callbacks too.
    ForeOrBoth = 3,
    /// For callbacks, and if possible for its requests too.
    BackOrBoth = 7,
}

/// What BIND_CONN_TO_SESSION tells.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Encode, Decode)]
pub struct BindConnToSessionOk {
    /// The session.
    pub session: SessionId,
    /// For which channel the connection is used.
    pub direction: ServerDirection,
    /// Whether RDMA is used on it.
    pub use_rdma: bool,
}

/// For which channel a connection is used (`channel_dir_from_server4`).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Encode, Decode)]
pub enum ServerDirection {
    /// For requests.
    Fore = 1,
    /// For callbacks.
    Back = 2,
    /// For both.
    Both = 3,
}

/// BIND_CONN_TO_SESSION binds a connection to a session.
#[derive(Debug, Clone, Copy)]
pub struct BindConnToSession;

impl CompoundOperation for BindConnToSession {
    const NUMBER: OpNumber = OpNumber::BindConnToSession;
    type Arguments<'a> = BindConnToSessionArgs;
    type Reply<'a> = Res<BindConnToSessionOk>;
}
