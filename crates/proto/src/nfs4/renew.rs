//! RENEW renews a lease (RFC 7530 §16.28).

use xdr::{Decode, Encode};

use super::{ClientId, CompoundOperation, OpNumber, Res};

/// The arguments of RENEW.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Encode, Decode)]
pub struct RenewArgs {
    /// The client.
    pub client: ClientId,
}

/// RENEW renews a lease.
#[derive(Debug, Clone, Copy)]
pub struct Renew;

impl CompoundOperation for Renew {
    const NUMBER: OpNumber = OpNumber::Renew;
    type Arguments<'a> = RenewArgs;
    type Reply<'a> = Res<()>;
}
