//! SEQUENCE assigns a request to a session slot (RFC 8881 §18.46).

use xdr::{Decode, Decoder, Encode, Encoder};

use super::{CompoundOperation, OpNumber, Res, SessionId, SlotId};

/// The arguments of SEQUENCE.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Encode)]
pub struct SequenceArgs {
    /// The session.
    pub session: SessionId,
    /// The slot's sequence ID, incremented for each new request.
    pub sequence: u32,
    /// The slot.
    pub slot: SlotId,
    /// The highest slot that the client uses.
    pub highest_slot: SlotId,
    /// Whether the reply must be cached.
    pub cache_this: bool,
}

/// The results of SEQUENCE.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Decode)]
pub struct SequenceOk {
    /// The session.
    pub session: SessionId,
    /// The slot's sequence ID.
    pub sequence: u32,
    /// The slot.
    pub slot: SlotId,
    /// The highest slot that the server accepts.
    pub highest_slot: SlotId,
    /// The highest slot that the server wants the client to use.
    pub target_highest_slot: SlotId,
    /// A set of the `SEQ_STATUS_…` bits.
    pub status_flags: u32,
}

/// Every request has them, so that the words behind the session are decoded in one step.
impl Decode<'_> for SequenceArgs {
    #[inline]
    fn decode(from: &mut Decoder<'_>) -> xdr::Result<Self> {
        let session = SessionId::decode(from)?;
        let [sequence, slot, highest_slot] = from.words()?;
        let (slot, highest_slot) = (SlotId(slot), SlotId(highest_slot));
        Ok(SequenceArgs { session, sequence, slot, highest_slot, cache_this: from.bool()? })
    }
}

/// Every reply has them, so that the words behind the session are appended in one step.
impl Encode for SequenceOk {
    #[inline]
    fn encode(&self, to: &mut Encoder<'_>) {
        let SequenceOk { session, sequence, slot, highest_slot, target_highest_slot, status_flags } = self;
        session.encode(to);
        to.words([*sequence, slot.0, highest_slot.0, target_highest_slot.0, *status_flags]);
    }
}

/// The server cannot call the client.
pub const SEQ_STATUS_CB_PATH_DOWN: u32 = 0x0001;
/// The contexts for callbacks will expire.
pub const SEQ_STATUS_CB_GSS_CONTEXTS_EXPIRING: u32 = 0x0002;
/// The contexts for callbacks have expired.
pub const SEQ_STATUS_CB_GSS_CONTEXTS_EXPIRED: u32 = 0x0004;
/// The lease expired, and all state was revoked.
pub const SEQ_STATUS_EXPIRED_ALL_STATE_REVOKED: u32 = 0x0008;
/// The lease expired, and some state was revoked.
pub const SEQ_STATUS_EXPIRED_SOME_STATE_REVOKED: u32 = 0x0010;
/// An administrator revoked state.
pub const SEQ_STATUS_ADMIN_STATE_REVOKED: u32 = 0x0020;
/// Delegations or layouts were revoked.
pub const SEQ_STATUS_RECALLABLE_STATE_REVOKED: u32 = 0x0040;
/// Some file system of the lease is at another server.
pub const SEQ_STATUS_LEASE_MOVED: u32 = 0x0080;
/// The server restarted, and state must be reclaimed.
pub const SEQ_STATUS_RESTART_RECLAIM_NEEDED: u32 = 0x0100;
/// The server cannot call the client in this session.
pub const SEQ_STATUS_CB_PATH_DOWN_SESSION: u32 = 0x0200;
/// The back channel has a fault.
pub const SEQ_STATUS_BACKCHANNEL_FAULT: u32 = 0x0400;
/// A data server's address changed.
pub const SEQ_STATUS_DEVID_CHANGED: u32 = 0x0800;
/// A data server was removed.
pub const SEQ_STATUS_DEVID_DELETED: u32 = 0x1000;

/// SEQUENCE assigns a request to a session slot.
#[derive(Debug, Clone, Copy)]
pub struct Sequence;

impl CompoundOperation for Sequence {
    const NUMBER: OpNumber = OpNumber::Sequence;
    type Arguments<'a> = SequenceArgs;
    type Reply<'a> = Res<SequenceOk>;
}
