//! CB_SEQUENCE places a callback in a session (RFC 8881 §20.9).

use xdr::{Decode, Encode};

use crate::nfs4::{CallbackNumber, CallbackOperation, MAX_REFERRING_CALLS, Res, SessionId, SlotId};

/// What CB_SEQUENCE needs.
#[derive(Debug, Clone, PartialEq, Eq, Encode, Decode)]
pub struct CbSequenceArgs {
    /// The session.
    pub session: SessionId,
    /// The slot's sequence id: one more for each new callback.
    pub sequence: u32,
    /// The slot.
    pub slot: SlotId,
    /// The highest slot that the server uses.
    pub highest_slot: SlotId,
    /// Whether the reply must be kept.
    pub cache_this: bool,
    /// The client's requests that the callback goes back to.
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
    /// Its sequence id.
    pub sequence: u32,
    /// Its slot.
    pub slot: SlotId,
}

/// What CB_SEQUENCE tells.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Encode, Decode)]
pub struct CbSequenceOk {
    /// The session.
    pub session: SessionId,
    /// The slot's sequence id.
    pub sequence: u32,
    /// The slot.
    pub slot: SlotId,
    /// The highest slot that the client keeps.
    pub highest_slot: SlotId,
    /// The highest slot that the client wants the server to use.
    pub target_highest_slot: SlotId,
}

/// CB_SEQUENCE places a callback in a session.
#[derive(Debug, Clone, Copy)]
pub struct CbSequence;

impl CallbackOperation for CbSequence {
    const NUMBER: CallbackNumber = CallbackNumber::CbSequence;
    type Arguments<'a> = CbSequenceArgs;
    type Reply<'a> = Res<CbSequenceOk>;
}
