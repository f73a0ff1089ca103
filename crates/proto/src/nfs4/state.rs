use xdr::{Decode, Encode};

use super::MAX_OPAQUE_BYTES;

/// Tells one boot, one try or one state of something from another: equal or not, nothing else (`verifier4`).
pub type Verifier = [u8; 8];

/// A server's short name for a client (RFC 7530 §9.1.1, RFC 8881 §2.4, `clientid4`).
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Encode, Decode)]
pub struct ClientId(pub u64);

/// A session's name (RFC 8881 §2.10.1, `sessionid4`).
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Encode, Decode)]
pub struct SessionId(pub [u8; 16]);

/// One place for a request in a session's channel, counted from 0 (RFC 8881 §2.10.6.1, `slotid4`).
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Encode, Decode)]
pub struct SlotId(pub u32);

/// Names an open, a set of locks or a delegation (RFC 7530 §9.1.4, RFC 8881 §8.2, `stateid4`).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, Encode, Decode)]
pub struct Stateid {
    /// Counts the changes of that state; 0 means the newest in 4.1.
    pub seqid: u32,
    /// The state's name.
    pub other: [u8; 12],
}

impl Stateid {
    /// No state at all: all bits zero.
    pub const ANONYMOUS: Stateid = Stateid { seqid: 0, other: [0; 12] };
    /// No state, and reads pass by share reservations: all bits one.
    pub const READ_BYPASS: Stateid = Stateid { seqid: u32::MAX, other: [0xff; 12] };
    /// What the last operation of this COMPOUND returned (RFC 8881 §8.2.3).
    pub const CURRENT: Stateid = Stateid { seqid: 1, other: [0; 12] };
    /// Never a valid one (RFC 8881 §8.2.3).
    pub const INVALID: Stateid = Stateid { seqid: u32::MAX, other: [0; 12] };
}

/// Who holds opens or locks: a client, and a process or the like in it (`open_owner4` and `lock_owner4`).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Encode, Decode)]
pub struct StateOwner<'a> {
    /// The client; not looked at in 4.1, where the session tells it.
    pub client: ClientId,
    /// What the client calls it.
    #[xdr(max = MAX_OPAQUE_BYTES)]
    pub owner: &'a [u8],
}
