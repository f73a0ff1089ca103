//! CB_SEQUENCE assigns a callback to a session slot (RFC 8881 §20.9).

use xdr::{Decode, Encode};

use crate::nfs4::{CallbackNumber, CallbackOperation, MAX_REFERRING_CALLS, Res, SessionId, SlotId};

/// The arguments of CB_SEQUENCE.
#[derive(Debug, Clone, PartialEq, Eq, Encode, Decode)]
pub struct CbSequenceArgs {
    /// The session.
    pub session: SessionId,
    /// The slot's sequence ID, incremented for each new callback.
    pub sequence: u32,
    /// The slot.
    pub slot: SlotId,
    /// The highest slot that the server uses.
    pub highest_slot: SlotId,
    /// Whether the reply must be cached.
    pub cache_this: bool,
    /// The client's requests that led to the callback.
    #[xdr(max = MAX_REFERRING_CALLS)]
    pub referring_calls: Vec<ReferringCalls>,
}

/// Requests of one session (`referring_call_list4`).
#[derive(Debug, Clone, PartialEq, Eq, Encode, Decode)]
pub struct ReferringCalls {
    /// The session.
    pub session: SessionId,
    /// The requests.
    #[xdr(max = MAX_REFERRING_CALLS)]
    pub calls: Vec<ReferringCall>,
}

/// One request (`referring_call4`).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Encode, Decode)]
pub struct ReferringCall {
    /// Its sequence ID.
    pub sequence: u32,
    /// Its slot.
    pub slot: SlotId,
}

/// The results of CB_SEQUENCE.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Encode, Decode)]
pub struct CbSequenceOk {
    /// The session.
    pub session: SessionId,
    /// The slot's sequence ID.
    pub sequence: u32,
    /// The slot.
    pub slot: SlotId,
    /// The highest slot that the client accepts.
    pub highest_slot: SlotId,
    /// The highest slot that the client wants the server to use.
    pub target_highest_slot: SlotId,
}

/// CB_SEQUENCE assigns a callback to a session slot.
#[derive(Debug, Clone, Copy)]
pub struct CbSequence;

impl CallbackOperation for CbSequence {
    const NUMBER: CallbackNumber = CallbackNumber::CbSequence;
    type Arguments<'a> = CbSequenceArgs;
    type Reply<'a> = Res<CbSequenceOk>;
}
