//! EXCHANGE_ID makes a client known (RFC 8881 §18.35).

use xdr::{Decode, Encode};

use super::{
    ClientId, CompoundOperation, MAX_OPAQUE_BYTES, OpNumber, Res, StateProtect, StateProtected, Time, Verifier,
};

/// What EXCHANGE_ID needs.
#[derive(Debug, Clone, PartialEq, Eq, Encode, Decode)]
pub struct ExchangeIdArgs<'a> {
    /// Another one after each restart of the client.
    pub verifier: Verifier,
    /// What the client calls itself, always the same.
    #[xdr(max = MAX_OPAQUE_BYTES)]
    pub owner_id: &'a [u8],
    /// A set of the `EXCHGID_…` bits.
    pub flags: u32,
    /// How the client wants its state protected.
    pub state_protect: StateProtect<'a>,
    /// What the client is.
    pub implementation: Option<ImplId<'a>>,
}

/// What EXCHANGE_ID tells.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Encode, Decode)]
pub struct ExchangeIdOk<'a> {
    /// The client's short name.
    pub client: ClientId,
    /// What the first CREATE_SESSION must say.
    pub sequence: u32,
    /// A set of the `EXCHGID_…` bits.
    pub flags: u32,
    /// How the client's state is protected.
    pub state_protect: StateProtected,
    /// Who the server is.
    pub server_owner: ServerOwner<'a>,
    /// In which servers the same client ids are known.
    #[xdr(max = MAX_OPAQUE_BYTES)]
    pub server_scope: &'a [u8],
    /// What the server is.
    pub implementation: Option<ImplId<'a>>,
}

/// Who a server is: two connections lead to the same one if this is the same (RFC 8881 §2.10.5, `server_owner4`).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Encode, Decode)]
pub struct ServerOwner<'a> {
    /// If this is the same too, sessions can use both.
    pub minor_id: u64,
    /// If this is the same, the client id is too.
    #[xdr(max = MAX_OPAQUE_BYTES)]
    pub major_id: &'a [u8],
}

/// What an implementation is (`nfs_impl_id4`).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Encode, Decode)]
pub struct ImplId<'a> {
    /// The domain name of who made it.
    #[xdr(max = MAX_OPAQUE_BYTES)]
    pub domain: &'a [u8],
    /// Its name and version.
    #[xdr(max = MAX_OPAQUE_BYTES)]
    pub name: &'a [u8],
    /// When it was made.
    pub date: Time,
}

/// The client understands MOVED as a referral.
pub const EXCHGID_SUPP_MOVED_REFER: u32 = 0x0000_0001;
/// The client understands MOVED as a migration.
pub const EXCHGID_SUPP_MOVED_MIGR: u32 = 0x0000_0002;
/// The server can fence data servers (4.2).
pub const EXCHGID_SUPP_FENCE_OPS: u32 = 0x0000_0004;
/// Stateids are bound to the principal that they were given to.
pub const EXCHGID_BIND_PRINC_STATEID: u32 = 0x0000_0100;
/// It is used without pNFS.
pub const EXCHGID_USE_NON_PNFS: u32 = 0x0001_0000;
/// It is used as a metadata server.
pub const EXCHGID_USE_PNFS_MDS: u32 = 0x0002_0000;
/// It is used as a data server.
pub const EXCHGID_USE_PNFS_DS: u32 = 0x0004_0000;
/// The three bits above.
pub const EXCHGID_MASK_PNFS: u32 = 0x0007_0000;
/// The client changes what it said earlier.
pub const EXCHGID_UPD_CONFIRMED_REC_A: u32 = 0x4000_0000;
/// The client has been confirmed.
pub const EXCHGID_CONFIRMED_R: u32 = 0x8000_0000;
/// What a client may say.
pub const EXCHGID_MASK_A: u32 = 0x4007_0107;
/// What a server may say.
pub const EXCHGID_MASK_R: u32 = 0x8007_0107;

/// EXCHANGE_ID makes a client known.
#[derive(Debug, Clone, Copy)]
pub struct ExchangeId;

impl CompoundOperation for ExchangeId {
    const NUMBER: OpNumber = OpNumber::ExchangeId;
    type Arguments<'a> = ExchangeIdArgs<'a>;
    type Reply<'a> = Res<ExchangeIdOk<'a>>;
}
