//! OPEN_CONFIRM confirms an owner's first open (RFC 7530 §16.18).

use xdr::{Decode, Encode};

use super::{CompoundOperation, OpNumber, Res, Stateid};

/// The arguments of OPEN_CONFIRM.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Encode, Decode)]
pub struct OpenConfirmArgs {
    /// The open.
    pub stateid: Stateid,
    /// The owner's sequence number.
    pub seqid: u32,
}

/// OPEN_CONFIRM confirms an owner's first open.
#[derive(Debug, Clone, Copy)]
pub struct OpenConfirm;

impl CompoundOperation for OpenConfirm {
    const NUMBER: OpNumber = OpNumber::OpenConfirm;
    type Arguments<'a> = OpenConfirmArgs;
    type Reply<'a> = Res<Stateid>;
}
