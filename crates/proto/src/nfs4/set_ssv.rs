//! SET_SSV changes the secret of a client (RFC 8881 §18.47).

use xdr::{Decode, Encode};

use super::{CompoundOperation, MAX_OPAQUE_BYTES, OpNumber, Res};

/// What SET_SSV needs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Encode, Decode)]
pub struct SetSsvArgs<'a> {
    /// What is mixed into the secret.
    #[xdr(max = MAX_OPAQUE_BYTES)]
    pub ssv: &'a [u8],
    /// Proves that the client has the old one.
    #[xdr(max = MAX_OPAQUE_BYTES)]
    pub digest: &'a [u8],
}

/// What SET_SSV tells.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Encode, Decode)]
pub struct SetSsvOk<'a> {
    /// Proves that the server has the new one.
    #[xdr(max = MAX_OPAQUE_BYTES)]
    pub digest: &'a [u8],
}

/// SET_SSV changes the secret of a client.
#[derive(Debug, Clone, Copy)]
pub struct SetSsv;

impl CompoundOperation for SetSsv {
    const NUMBER: OpNumber = OpNumber::SetSsv;
    type Arguments<'a> = SetSsvArgs<'a>;
    type Reply<'a> = Res<SetSsvOk<'a>>;
}
