//! ALLOCATE reserves space (RFC 7862 §15.1).

use xdr::{Decode, Encode};

use super::{CompoundOperation, OpNumber, Res, Stateid};

/// The arguments of ALLOCATE.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Encode, Decode)]
pub struct AllocateArgs {
    /// The stateid of an open, of locks or of a delegation.
    pub stateid: Stateid,
    /// The offset of the range, in bytes.
    pub offset: u64,
    /// Its length in bytes.
    pub length: u64,
}

/// ALLOCATE reserves space.
#[derive(Debug, Clone, Copy)]
pub struct Allocate;

impl CompoundOperation for Allocate {
    const NUMBER: OpNumber = OpNumber::Allocate;
    type Arguments<'a> = AllocateArgs;
    type Reply<'a> = Res<()>;
}
