//! DEALLOCATE punches a hole (RFC 7862 §15.4).

use xdr::{Decode, Encode};

use super::{CompoundOperation, OpNumber, Res, Stateid};

/// The arguments of DEALLOCATE.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Encode, Decode)]
pub struct DeallocateArgs {
    /// The stateid of an open, of locks or of a delegation.
    pub stateid: Stateid,
    /// The offset of the range, in bytes.
    pub offset: u64,
    /// Its length in bytes.
    pub length: u64,
}

/// DEALLOCATE punches a hole.
#[derive(Debug, Clone, Copy)]
pub struct Deallocate;

impl CompoundOperation for Deallocate {
    const NUMBER: OpNumber = OpNumber::Deallocate;
    type Arguments<'a> = DeallocateArgs;
    type Reply<'a> = Res<()>;
}
