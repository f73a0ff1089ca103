//! OPEN_DOWNGRADE gives up part of an open (RFC 7530 §16.19, RFC 8881 §18.18).

use xdr::{Decode, Encode};

use super::{CompoundOperation, OpNumber, Res, Stateid};

/// What OPEN_DOWNGRADE needs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Encode, Decode)]
pub struct OpenDowngradeArgs {
    /// The open.
    pub stateid: Stateid,
    /// The owner's sequence number; not looked at from 4.1 on.
    pub seqid: u32,
    /// What the owner will still do.
    pub share_access: u32,
    /// What others still may not do.
    pub share_deny: u32,
}

/// OPEN_DOWNGRADE gives up part of an open.
#[derive(Debug, Clone, Copy)]
pub struct OpenDowngrade;

impl CompoundOperation for OpenDowngrade {
    const NUMBER: OpNumber = OpNumber::OpenDowngrade;
    type Arguments<'a> = OpenDowngradeArgs;
    type Reply<'a> = Res<Stateid>;
}
