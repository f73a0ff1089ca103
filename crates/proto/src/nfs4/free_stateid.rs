//! FREE_STATEID frees a stateid without locks (RFC 8881 §18.38).

use xdr::{Decode, Encode};

use super::{CompoundOperation, OpNumber, Res, Stateid};

/// The arguments of FREE_STATEID.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Encode, Decode)]
pub struct FreeStateidArgs {
    /// The stateid.
    pub stateid: Stateid,
}

/// FREE_STATEID frees a stateid without locks.
#[derive(Debug, Clone, Copy)]
pub struct FreeStateid;

impl CompoundOperation for FreeStateid {
    const NUMBER: OpNumber = OpNumber::FreeStateid;
    type Arguments<'a> = FreeStateidArgs;
    type Reply<'a> = Res<()>;
}
