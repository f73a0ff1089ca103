//! RELEASE_LOCKOWNER forgets an owner of locks (RFC 7530 §16.37).

use xdr::{Decode, Encode};

use super::{CompoundOperation, OpNumber, Res, StateOwner};

/// What RELEASE_LOCKOWNER needs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Encode, Decode)]
pub struct ReleaseLockownerArgs<'a> {
    /// The owner, who must not have locks any more.
    pub owner: StateOwner<'a>,
}

/// RELEASE_LOCKOWNER forgets an owner of locks.
#[derive(Debug, Clone, Copy)]
pub struct ReleaseLockowner;

impl CompoundOperation for ReleaseLockowner {
    const NUMBER: OpNumber = OpNumber::ReleaseLockowner;
    type Arguments<'a> = ReleaseLockownerArgs<'a>;
    type Reply<'a> = Res<()>;
}
