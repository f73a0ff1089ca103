//! DEALLOCATE punches a hole (RFC 7862 §15.4).

use xdr::{Decode, Encode};

use super::{CompoundOperation, OpNumber, Res, Stateid};

/// What DEALLOCATE needs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Encode, Decode)]
pub struct DeallocateArgs {
    /// The open, the locks or the delegation that it is done under.
    pub stateid: Stateid,
    /// Where the range begins, in bytes.
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
