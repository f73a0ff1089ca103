//! DELEGRETURN returns a delegation (RFC 7530 §16.6, RFC 8881 §18.6).

use xdr::{Decode, Encode};

use super::{CompoundOperation, OpNumber, Res, Stateid};

/// The arguments of DELEGRETURN.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Encode, Decode)]
pub struct DelegreturnArgs {
    /// The delegation.
    pub stateid: Stateid,
}

/// DELEGRETURN returns a delegation.
#[derive(Debug, Clone, Copy)]
pub struct Delegreturn;

impl CompoundOperation for Delegreturn {
    const NUMBER: OpNumber = OpNumber::Delegreturn;
    type Arguments<'a> = DelegreturnArgs;
    type Reply<'a> = Res<()>;
}
