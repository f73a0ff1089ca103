//! WANT_DELEGATION asks for a delegation of an open file (RFC 8881 §18.49).

use xdr::{Decode, Encode};

use super::{CompoundOperation, Delegation, DelegationClaim, OpNumber, Res};

/// What WANT_DELEGATION needs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Encode, Decode)]
pub struct WantDelegationArgs {
    /// One of the `WANT_…` values of OPEN.
    pub want: u32,
    /// By what right.
    pub claim: DelegationClaim,
}

/// WANT_DELEGATION asks for a delegation of an open file.
#[derive(Debug, Clone, Copy)]
pub struct WantDelegation;

impl CompoundOperation for WantDelegation {
    const NUMBER: OpNumber = OpNumber::WantDelegation;
    type Arguments<'a> = WantDelegationArgs;
    type Reply<'a> = Res<Delegation<'a>>;
}
