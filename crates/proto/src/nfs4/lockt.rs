//! LOCKT tests for a lock (RFC 7530 §16.11, RFC 8881 §18.11).

use xdr::{Decode, Encode};

use super::{CompoundOperation, LockDenied, LockType, OpNumber, ResOr, StateOwner, Status};

/// What LOCKT needs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Encode, Decode)]
pub struct LocktArgs<'a> {
    /// For reading or writing.
    pub lock_type: LockType,
    /// Where the range begins, in bytes.
    pub offset: u64,
    /// Its length in bytes; all ones for everything from there on.
    pub length: u64,
    /// Who would lock.
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
