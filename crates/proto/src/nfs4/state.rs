use xdr::{Decode, Encode};

use super::MAX_OPAQUE_BYTES;

/// Distinguishes boots, attempts or states: only equality has a meaning (`verifier4`).
pub type Verifier = [u8; 8];

/// A server's identifier of a client (RFC 7530 §9.1.1, RFC 8881 §2.4, `clientid4`).
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Encode, Decode)]
pub struct ClientId(pub u64);

/// The identifier of a session (RFC 8881 §2.10.1, `sessionid4`).
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Encode, Decode)]
pub struct SessionId(pub [u8; 16]);

/// A session slot, counted from 0 (RFC 8881 §2.10.6.1, `slotid4`).
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Encode, Decode)]
pub struct SlotId(pub u32);

/// The identifier of an open, of locks or of a delegation (RFC 7530 §9.1.4, RFC 8881 §8.2, `stateid4`).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, Encode, Decode)]
pub struct Stateid {
    /// Counts the changes of that state; 0 means the newest in 4.1.
    pub seqid: u32,
    /// Identifies the state.
    pub other: [u8; 12],
}

impl Stateid {
    /// No state: all bits zero.
    pub const ANONYMOUS: Stateid = Stateid { seqid: 0, other: [0; 12] };
    /// No state, and reads bypass share reservations: all bits one.
    pub const READ_BYPASS: Stateid = Stateid { seqid: u32::MAX, other: [0xff; 12] };
    /// The stateid of the previous operation in this COMPOUND (RFC 8881 §8.2.3).
    pub const CURRENT: Stateid = Stateid { seqid: 1, other: [0; 12] };
    /// A stateid that is never valid (RFC 8881 §8.2.3).
    pub const INVALID: Stateid = Stateid { seqid: u32::MAX, other: [0; 12] };
}

/// An owner of opens or locks: a client and, for example, a process on it (`open_owner4` and `lock_owner4`).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Encode, Decode)]
pub struct StateOwner<'a> {
    /// The client; ignored in 4.1, where the session identifies it.
    pub client: ClientId,
    /// The client's name for the owner.
    #[xdr(max = MAX_OPAQUE_BYTES)]
    pub owner: &'a [u8],
}
