//! SETCLIENTID_CONFIRM confirms a client (RFC 7530 §16.34).

use xdr::{Decode, Encode};

use super::{ClientId, CompoundOperation, OpNumber, Res, Verifier};

/// The arguments of SETCLIENTID_CONFIRM.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Encode, Decode)]
pub struct SetclientidConfirmArgs {
    /// The client.
    pub client: ClientId,
    /// The verifier from SETCLIENTID.
    pub confirm: Verifier,
}

/// SETCLIENTID_CONFIRM confirms a client.
#[derive(Debug, Clone, Copy)]
pub struct SetclientidConfirm;

impl CompoundOperation for SetclientidConfirm {
    const NUMBER: OpNumber = OpNumber::SetclientidConfirm;
    type Arguments<'a> = SetclientidConfirmArgs;
    type Reply<'a> = Res<()>;
}
