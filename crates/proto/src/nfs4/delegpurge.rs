//! DELEGPURGE releases delegations from before a client's restart (RFC 7530 §16.5, RFC 8881 §18.5).

use xdr::{Decode, Encode};

use super::{ClientId, CompoundOperation, OpNumber, Res};

/// The arguments of DELEGPURGE.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Encode, Decode)]
pub struct DelegpurgeArgs {
    /// The client; ignored from 4.1 on.
    pub client: ClientId,
}

/// DELEGPURGE releases delegations from before a client's restart.
#[derive(Debug, Clone, Copy)]
pub struct Delegpurge;

impl CompoundOperation for Delegpurge {
    const NUMBER: OpNumber = OpNumber::Delegpurge;
    type Arguments<'a> = DelegpurgeArgs;
    type Reply<'a> = Res<()>;
}
