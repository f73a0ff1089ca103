//! RELEASE_LOCKOWNER releases a lock owner (RFC 7530 §16.37).

use xdr::{Decode, Encode};

use super::{CompoundOperation, OpNumber, Res, StateOwner};

/// The arguments of RELEASE_LOCKOWNER.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Encode, Decode)]
pub struct ReleaseLockownerArgs<'a> {
    /// The owner, which must have no locks.
    pub owner: StateOwner<'a>,
}

/// RELEASE_LOCKOWNER releases a lock owner.
#[derive(Debug, Clone, Copy)]
pub struct ReleaseLockowner;

impl CompoundOperation for ReleaseLockowner {
    const NUMBER: OpNumber = OpNumber::ReleaseLockowner;
    type Arguments<'a> = ReleaseLockownerArgs<'a>;
    type Reply<'a> = Res<()>;
}
