//! EXCHANGE_ID registers a client (RFC 8881 §18.35).

use xdr::{Decode, Encode};

use super::{
    ClientId, CompoundOperation, MAX_OPAQUE_BYTES, OpNumber, Res, StateProtect, StateProtected, Time, Verifier,
};

/// The arguments of EXCHANGE_ID.
#[derive(Debug, Clone, PartialEq, Eq, Encode, Decode)]
pub struct ExchangeIdArgs<'a> {
    /// Changes with each restart of the client.
    pub verifier: Verifier,
    /// The client's own name, which never changes.
    #[xdr(max = MAX_OPAQUE_BYTES)]
    pub owner_id: &'a [u8],
    /// A set of the `EXCHGID_…` bits.
    pub flags: u32,
    /// The requested state protection.
    pub state_protect: StateProtect<'a>,
    /// The client's implementation.
    pub implementation: Option<ImplId<'a>>,
}

/// The results of EXCHANGE_ID.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Encode, Decode)]
pub struct ExchangeIdOk<'a> {
    /// The client ID.
    pub client: ClientId,
    /// The sequence number of the first CREATE_SESSION.
    pub sequence: u32,
    /// A set of the `EXCHGID_…` bits.
    pub flags: u32,
    /// The granted state protection.
    pub state_protect: StateProtected,
    /// The identity of the server.
    pub server_owner: ServerOwner<'a>,
    /// The scope: servers with the same scope share client IDs.
    #[xdr(max = MAX_OPAQUE_BYTES)]
    pub server_scope: &'a [u8],
    /// The server's implementation.
    pub implementation: Option<ImplId<'a>>,
}

/// The identity of a server, for detecting trunking (RFC 8881 §2.10.5, `server_owner4`).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Encode, Decode)]
pub struct ServerOwner<'a> {
    /// If this is also equal, sessions can use both connections.
    pub minor_id: u64,
    /// If this is equal, so is the client ID.
    #[xdr(max = MAX_OPAQUE_BYTES)]
    pub major_id: &'a [u8],
}

/// The description of an implementation (`nfs_impl_id4`).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Encode, Decode)]
pub struct ImplId<'a> {
    /// The domain name of its maker.
    #[xdr(max = MAX_OPAQUE_BYTES)]
    pub domain: &'a [u8],
    /// Its name and version.
    #[xdr(max = MAX_OPAQUE_BYTES)]
    pub name: &'a [u8],
    /// The time of creation.
    pub date: Time,
}

/// The client understands MOVED as a referral.
pub const EXCHGID_SUPP_MOVED_REFER: u32 = 0x0000_0001;
/// The client understands MOVED as a migration.
pub const EXCHGID_SUPP_MOVED_MIGR: u32 = 0x0000_0002;
/// The server can fence data servers (4.2).
pub const EXCHGID_SUPP_FENCE_OPS: u32 = 0x0000_0004;
/// Stateids are bound to their principal.
pub const EXCHGID_BIND_PRINC_STATEID: u32 = 0x0000_0100;
/// The server is used without pNFS.
pub const EXCHGID_USE_NON_PNFS: u32 = 0x0001_0000;
/// The server is used as a metadata server.
pub const EXCHGID_USE_PNFS_MDS: u32 = 0x0002_0000;
/// The server is used as a data server.
pub const EXCHGID_USE_PNFS_DS: u32 = 0x0004_0000;
/// The three bits above.
pub const EXCHGID_MASK_PNFS: u32 = 0x0007_0000;
/// The client updates its record.
pub const EXCHGID_UPD_CONFIRMED_REC_A: u32 = 0x4000_0000;
/// The client has been confirmed.
pub const EXCHGID_CONFIRMED_R: u32 = 0x8000_0000;
/// The bits that a client may send.
pub const EXCHGID_MASK_A: u32 = 0x4007_0107;
/// The bits that a server may send.
pub const EXCHGID_MASK_R: u32 = 0x8007_0107;

/// EXCHANGE_ID registers a client.
#[derive(Debug, Clone, Copy)]
pub struct ExchangeId;

impl CompoundOperation for ExchangeId {
    const NUMBER: OpNumber = OpNumber::ExchangeId;
    type Arguments<'a> = ExchangeIdArgs<'a>;
    type Reply<'a> = Res<ExchangeIdOk<'a>>;
}
