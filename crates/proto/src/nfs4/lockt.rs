//! LOCKT tests for a lock (RFC 7530 §16.11, RFC 8881 §18.11).

use xdr::{Decode, Encode};

use super::{CompoundOperation, LockDenied, LockType, OpNumber, ResOr, StateOwner, Status};

/// The arguments of LOCKT.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Encode, Decode)]
pub struct LocktArgs<'a> {
    /// For reading or writing.
    pub lock_type: LockType,
    /// The offset of the range, in bytes.
    pub offset: u64,
    /// Its length in bytes; all ones for everything from the offset on.
    pub length: u64,
    /// The lock owner to test for.
    pub owner: StateOwner<'a>,
}

/// LOCKT tests for a lock.
#[derive(Debug, Clone, Copy)]
pub struct Lockt;

impl CompoundOperation for Lockt {
    const NUMBER: OpNumber = OpNumber::Lockt;
    type Arguments<'a> = LocktArgs<'a>;
    type Reply<'a> = ResOr<(), LockDenied<'a>, { Status::Denied as u32 }>;
}
