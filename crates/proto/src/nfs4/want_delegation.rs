//! WANT_DELEGATION requests a delegation (RFC 8881 §18.49).

use xdr::{Decode, Encode};

use super::{CompoundOperation, Delegation, DelegationClaim, OpNumber, Res};

/// The arguments of WANT_DELEGATION.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Encode, Decode)]
pub struct WantDelegationArgs {
    /// One of the `WANT_…` values of OPEN.
    pub want: u32,
    /// The claim.
    pub claim: DelegationClaim,
}

/// WANT_DELEGATION requests a delegation.
#[derive(Debug, Clone, Copy)]
pub struct WantDelegation;

impl CompoundOperation for WantDelegation {
    const NUMBER: OpNumber = OpNumber::WantDelegation;
    type Arguments<'a> = WantDelegationArgs;
    type Reply<'a> = Res<Delegation<'a>>;
}
