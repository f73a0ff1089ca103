//! BIND_CONN_TO_SESSION binds a connection to a session (RFC 8881 §18.34).

use xdr::{Decode, Encode};

use super::{CompoundOperation, OpNumber, Res, SessionId};

/// The arguments of BIND_CONN_TO_SESSION.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Encode, Decode)]
pub struct BindConnToSessionArgs {
    /// The session.
    pub session: SessionId,
    /// The channel that the client requests the connection for.
    pub direction: ClientDirection,
    /// Whether to use RDMA on it.
    pub use_rdma: bool,
}

/// The channel that a client requests a connection for (`channel_dir_from_client4`).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Encode, Decode)]
pub enum ClientDirection {
    /// The fore channel.
    Fore = 1,
    /// The back channel.
    Back = 2,
    /// The fore channel, and if possible the back channel.
    ForeOrBoth = 3,
    /// The back channel, and if possible the fore channel.
    BackOrBoth = 7,
}

/// The results of BIND_CONN_TO_SESSION.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Encode, Decode)]
pub struct BindConnToSessionOk {
    /// The session.
    pub session: SessionId,
    /// The channel that the connection is used for.
    pub direction: ServerDirection,
    /// Whether RDMA is used on it.
    pub use_rdma: bool,
}

/// The channel that a connection is used for (`channel_dir_from_server4`).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Encode, Decode)]
pub enum ServerDirection {
    /// The fore channel.
    Fore = 1,
    /// The back channel.
    Back = 2,
    /// Both channels.
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
