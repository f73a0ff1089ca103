//! The delegations that OPEN, WANT_DELEGATION and CB_PUSH_DELEG grant (RFC 7530 §10.4, RFC 8881 §10.4).

use xdr::{Decode, Encode};

use super::{Ace, Stateid};

/// Kinds of delegations (`open_delegation_type4`).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Encode, Decode)]
pub enum DelegationType {
    /// None.
    None = 0,
    /// For reading.
    Read = 1,
    /// For writing.
    Write = 2,
    /// None, with the reason (4.1).
    NoneExt = 3,
}

/// A delegation, or none (`open_delegation4`).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Encode, Decode)]
pub enum Delegation<'a> {
    /// None; a 4.1 client that requested one gets `NoneExt` instead.
    #[xdr(case = 0)]
    None,
    /// For reading.
    #[xdr(case = 1)]
    Read(ReadDelegation<'a>),
    /// For writing.
    #[xdr(case = 2)]
    Write(WriteDelegation<'a>),
    /// None, with the reason (RFC 8881 §18.16.3).
    #[xdr(case = 3)]
    NoneExt(WhyNoDelegation),
}

/// While it is valid, no other client writes (`open_read_delegation4`).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Encode, Decode)]
pub struct ReadDelegation<'a> {
    /// Its stateid.
    pub stateid: Stateid,
    /// Whether it is recalled immediately, which may happen to a reclaimed one.
    pub recall: bool,
    /// The user or group that may open the file without the server.
    pub permissions: Ace<'a>,
}

/// While it is valid, no other client reads or writes (`open_write_delegation4`).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Encode, Decode)]
pub struct WriteDelegation<'a> {
    /// Its stateid.
    pub stateid: Stateid,
    /// Whether it is recalled immediately.
    pub recall: bool,
    /// The limit of unwritten data when the file is closed.
    pub space_limit: SpaceLimit,
    /// The user or group that may open the file without the server.
    pub permissions: Ace<'a>,
}

/// The limit of unwritten data (`nfs_space_limit4`).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Encode, Decode)]
pub enum SpaceLimit {
    /// Up to a length of the file.
    #[xdr(case = 1)]
    Size {
        /// That length, in bytes.
        size_bytes: u64,
    },
    /// A number of dirty blocks.
    #[xdr(case = 2)]
    Blocks {
        /// That number.
        blocks: u32,
        /// The length of each, in bytes.
        block_bytes: u32,
    },
}

/// The reason why there is no delegation (`open_none_delegation4`).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Encode, Decode)]
pub enum WhyNoDelegation {
    /// The client did not want any.
    #[xdr(case = 0)]
    NotWanted,
    /// Another client conflicts.
    #[xdr(case = 1)]
    Contention {
        /// Whether the server will grant it when the conflict ends.
        will_push: bool,
    },
    /// The server lacks resources.
    #[xdr(case = 2)]
    Resource {
        /// Whether the server will notify the client when it has resources.
        will_signal: bool,
    },
    /// The server does not delegate such files.
    #[xdr(case = 3)]
    NotSuppFileType,
    /// The server does not delegate such files for writing.
    #[xdr(case = 4)]
    WriteNotSuppFileType,
    /// The server does not upgrade a read delegation.
    #[xdr(case = 5)]
    NotSuppUpgrade,
    /// The server does not downgrade a write delegation.
    #[xdr(case = 6)]
    NotSuppDowngrade,
    /// The client withdrew its request.
    #[xdr(case = 7)]
    Cancelled,
    /// It is a directory.
    #[xdr(case = 8)]
    IsDir,
}
