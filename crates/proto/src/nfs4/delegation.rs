//! Delegations as OPEN, WANT_DELEGATION and CB_PUSH_DELEG give them (RFC 7530 §10.4, RFC 8881 §10.4).

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
    /// None; a client that wanted one in 4.1 is told why with the variant below.
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

/// While it holds, no one else writes (`open_read_delegation4`).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Encode, Decode)]
pub struct ReadDelegation<'a> {
    /// Names it.
    pub stateid: Stateid,
    /// Whether it is recalled as it is given, which can be so when it was reclaimed.
    pub recall: bool,
    /// Who may open the file without asking the server.
    pub permissions: Ace<'a>,
}

/// While it holds, no one else reads or writes (`open_write_delegation4`).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Encode, Decode)]
pub struct WriteDelegation<'a> {
    /// Names it.
    pub stateid: Stateid,
    /// Whether it is recalled as it is given.
    pub recall: bool,
    /// How much may stay unwritten when the file is closed.
    pub space_limit: SpaceLimit,
    /// Who may open the file without asking the server.
    pub permissions: Ace<'a>,
}

/// How much a client may keep unwritten (`nfs_space_limit4`).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Encode, Decode)]
pub enum SpaceLimit {
    /// Up to a length of the file.
    #[xdr(case = 1)]
    Size {
        /// That length, in bytes.
        size_bytes: u64,
    },
    /// A number of changed blocks.
    #[xdr(case = 2)]
    Blocks {
        /// That number.
        blocks: u32,
        /// The length of each, in bytes.
        block_bytes: u32,
    },
}

/// Why there is no delegation (`open_none_delegation4`).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Encode, Decode)]
pub enum WhyNoDelegation {
    /// The client did not want any.
    #[xdr(case = 0)]
    NotWanted,
    /// Another client is in the way.
    #[xdr(case = 1)]
    Contention {
        /// Whether the server will give it when that is over.
        will_push: bool,
    },
    /// The server lacks resources.
    #[xdr(case = 2)]
    Resource {
        /// Whether the server will tell when that is over.
        will_signal: bool,
    },
    /// The server does not delegate such files.
    #[xdr(case = 3)]
    NotSuppFileType,
    /// The server does not delegate such files for writing.
    #[xdr(case = 4)]
    WriteNotSuppFileType,
    /// The server does not turn a read delegation into a write delegation.
    #[xdr(case = 5)]
    NotSuppUpgrade,
    /// The server does not turn a write delegation into a read delegation.
    #[xdr(case = 6)]
    NotSuppDowngrade,
    /// The client took its wish back.
    #[xdr(case = 7)]
    Cancelled,
    /// It is a directory.
    #[xdr(case = 8)]
    IsDir,
}
