//! ALLOCATE reserves room (RFC 7862 §15.1).

use xdr::{Decode, Encode};

use super::{CompoundOperation, OpNumber, Res, Stateid};

/// What ALLOCATE needs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Encode, Decode)]
pub struct AllocateArgs {
    /// The open, the locks or the delegation that it is done under.
    pub stateid: Stateid,
    /// Where the range begins, in bytes.
    pub offset: u64,
    /// Its length in bytes.
    pub length: u64,
}

/// ALLOCATE reserves room.
#[derive(Debug, Clone, Copy)]
pub struct Allocate;

impl CompoundOperation for Allocate {
    const NUMBER: OpNumber = OpNumber::Allocate;
    type Arguments<'a> = AllocateArgs;
    type Reply<'a> = Res<()>;
}
