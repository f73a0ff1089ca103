//! CREATE_SESSION creates a session and confirms a client (RFC 8881 §18.36).

use xdr::{Decode, Encode};

use super::{CallbackSec, ClientId, CompoundOperation, MAX_CALLBACK_SECS, OpNumber, Res, SessionId};

/// The arguments of CREATE_SESSION.
#[derive(Debug, Clone, PartialEq, Eq, Encode, Decode)]
pub struct CreateSessionArgs<'a> {
    /// The client.
    pub client: ClientId,
    /// The client's sequence ID: that from EXCHANGE_ID, incremented each time.
    pub sequence: u32,
    /// A set of the `CREATE_SESSION_…` bits.
    pub flags: u32,
    /// The requested attributes of the fore channel.
    pub fore: ChannelAttrs,
    /// The requested attributes of the back channel.
    pub back: ChannelAttrs,
    /// The number of the client's callback program.
    pub callback_program: u32,
    /// The credentials that the server may use, best first.
    #[xdr(max = MAX_CALLBACK_SECS)]
    pub callback_security: Vec<CallbackSec<'a>>,
}

/// The results of CREATE_SESSION.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Encode, Decode)]
pub struct CreateSessionOk {
    /// The session.
    pub session: SessionId,
    /// The client's sequence ID.
    pub sequence: u32,
    /// The granted bits.
    pub flags: u32,
    /// The attributes of the fore channel.
    pub fore: ChannelAttrs,
    /// The attributes of the back channel.
    pub back: ChannelAttrs,
}

/// The attributes of a channel (`channel_attrs4`).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, Encode, Decode)]
pub struct ChannelAttrs {
    /// The padding before the data of a WRITE with RDMA, in bytes.
    pub header_pad_size: u32,
    /// The largest request, in bytes.
    pub max_request_size: u32,
    /// The largest reply, in bytes.
    pub max_response_size: u32,
    /// The largest reply to cache, in bytes.
    pub max_response_size_cached: u32,
    /// The most operations of a COMPOUND.
    pub max_operations: u32,
    /// The number of slots.
    pub max_requests: u32,
    /// The most RDMA reads in flight.
    pub rdma_ird: Option<u32>,
}

/// Cached replies survive a restart of the server.
pub const CREATE_SESSION_PERSIST: u32 = 0x1;
/// The connection is used for callbacks too.
pub const CREATE_SESSION_CONN_BACK_CHAN: u32 = 0x2;
/// RDMA is used on the connection.
pub const CREATE_SESSION_CONN_RDMA: u32 = 0x4;

/// CREATE_SESSION creates a session and confirms a client.
#[derive(Debug, Clone, Copy)]
pub struct CreateSession;

impl CompoundOperation for CreateSession {
    const NUMBER: OpNumber = OpNumber::CreateSession;
    type Arguments<'a> = CreateSessionArgs<'a>;
    type Reply<'a> = Res<CreateSessionOk>;
}
