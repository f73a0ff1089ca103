//! CREATE_SESSION makes a session and confirms a client (RFC 8881 §18.36).

use xdr::{Decode, Encode};

use super::{CallbackSec, ClientId, CompoundOperation, MAX_CALLBACK_SECS, OpNumber, Res, SessionId};

/// What CREATE_SESSION needs.
#[derive(Debug, Clone, PartialEq, Eq, Encode, Decode)]
pub struct CreateSessionArgs<'a> {
    /// The client.
    pub client: ClientId,
    /// The client's sequence id: what EXCHANGE_ID told, then one more each time.
    pub sequence: u32,
    /// A set of the `CREATE_SESSION_…` bits.
    pub flags: u32,
    /// What the client wants of the channel for requests.
    pub fore: ChannelAttrs,
    /// What the client wants of the channel for callbacks.
    pub back: ChannelAttrs,
    /// The number of the client's callback program.
    pub callback_program: u32,
    /// How the server may authenticate, best first.
    #[xdr(max = MAX_CALLBACK_SECS)]
    pub callback_security: Vec<CallbackSec<'a>>,
}

/// What CREATE_SESSION tells.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Encode, Decode)]
pub struct CreateSessionOk {
    /// The session.
    pub session: SessionId,
    /// The client's sequence id.
    pub sequence: u32,
    /// Which of the bits were granted.
    pub flags: u32,
    /// What the channel for requests is like.
    pub fore: ChannelAttrs,
    /// What the channel for callbacks is like.
    pub back: ChannelAttrs,
}

/// What a channel is like (`channel_attrs4`).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, Encode, Decode)]
pub struct ChannelAttrs {
    /// How many bytes of padding go before the data of a WRITE with RDMA.
    pub header_pad_size: u32,
    /// The largest request, in bytes.
    pub max_request_size: u32,
    /// The largest reply, in bytes.
    pub max_response_size: u32,
    /// The largest reply that is kept, in bytes.
    pub max_response_size_cached: u32,
    /// The most operations of a COMPOUND.
    pub max_operations: u32,
    /// The number of slots.
    pub max_requests: u32,
    /// How many RDMA reads may be under way.
    pub rdma_ird: Option<u32>,
}

/// The replies that are kept outlive a restart of the server.
pub const CREATE_SESSION_PERSIST: u32 = 0x1;
/// The connection is used for callbacks too.
pub const CREATE_SESSION_CONN_BACK_CHAN: u32 = 0x2;
/// RDMA is used on the connection.
pub const CREATE_SESSION_CONN_RDMA: u32 = 0x4;

/// CREATE_SESSION makes a session and confirms a client.
#[derive(Debug, Clone, Copy)]
pub struct CreateSession;

impl CompoundOperation for CreateSession {
    const NUMBER: OpNumber = OpNumber::CreateSession;
    type Arguments<'a> = CreateSessionArgs<'a>;
    type Reply<'a> = Res<CreateSessionOk>;
}
