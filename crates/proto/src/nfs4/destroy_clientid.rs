//! DESTROY_CLIENTID removes a client (RFC 8881 §18.50).

use xdr::{Decode, Encode};

use super::{ClientId, CompoundOperation, OpNumber, Res};

/// The arguments of DESTROY_CLIENTID.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Encode, Decode)]
pub struct DestroyClientidArgs {
    /// The client, which must have no state and no sessions.
    pub client: ClientId,
}

/// DESTROY_CLIENTID removes a client.
#[derive(Debug, Clone, Copy)]
pub struct DestroyClientid;

impl CompoundOperation for DestroyClientid {
    const NUMBER: OpNumber = OpNumber::DestroyClientid;
    type Arguments<'a> = DestroyClientidArgs;
    type Reply<'a> = Res<()>;
}
