//! DESTROY_CLIENTID forgets a client (RFC 8881 §18.50).

use xdr::{Decode, Encode};

use super::{ClientId, CompoundOperation, OpNumber, Res};

/// What DESTROY_CLIENTID needs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Encode, Decode)]
pub struct DestroyClientidArgs {
    /// The client, which must not have state or sessions any more.
    pub client: ClientId,
}

/// DESTROY_CLIENTID forgets a client.
#[derive(Debug, Clone, Copy)]
pub struct DestroyClientid;

impl CompoundOperation for DestroyClientid {
    const NUMBER: OpNumber = OpNumber::DestroyClientid;
    type Arguments<'a> = DestroyClientidArgs;
    type Reply<'a> = Res<()>;
}
