//! OPEN_DOWNGRADE reduces the access and deny modes of an open (RFC 7530 §16.19, RFC 8881 §18.18).

use xdr::{Decode, Encode};

use super::{CompoundOperation, OpNumber, Res, Stateid};

/// The arguments of OPEN_DOWNGRADE.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Encode, Decode)]
pub struct OpenDowngradeArgs {
    /// The open.
    pub stateid: Stateid,
    /// The owner's sequence number; ignored from 4.1 on.
    pub seqid: u32,
    /// The remaining access mode.
    pub share_access: u32,
    /// The remaining deny mode.
    pub share_deny: u32,
}

/// OPEN_DOWNGRADE reduces the access and deny modes of an open.
#[derive(Debug, Clone, Copy)]
pub struct OpenDowngrade;

impl CompoundOperation for OpenDowngrade {
    const NUMBER: OpNumber = OpNumber::OpenDowngrade;
    type Arguments<'a> = OpenDowngradeArgs;
    type Reply<'a> = Res<Stateid>;
}
