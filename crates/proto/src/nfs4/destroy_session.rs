//! DESTROY_SESSION ends a session (RFC 8881 §18.37).

use xdr::{Decode, Encode};

use super::{CompoundOperation, OpNumber, Res, SessionId};

/// The arguments of DESTROY_SESSION.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Encode, Decode)]
pub struct DestroySessionArgs {
    /// The session.
    pub session: SessionId,
}

/// DESTROY_SESSION ends a session.
#[derive(Debug, Clone, Copy)]
pub struct DestroySession;

impl CompoundOperation for DestroySession {
    const NUMBER: OpNumber = OpNumber::DestroySession;
    type Arguments<'a> = DestroySessionArgs;
    type Reply<'a> = Res<()>;
}
