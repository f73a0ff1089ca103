//! SET_SSV changes the secret of a client (RFC 8881 §18.47).

use xdr::{Decode, Encode};

use super::{CompoundOperation, MAX_OPAQUE_BYTES, OpNumber, Res};

/// The arguments of SET_SSV.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Encode, Decode)]
pub struct SetSsvArgs<'a> {
    /// The data to combine with the secret.
    #[xdr(max = MAX_OPAQUE_BYTES)]
    pub ssv: &'a [u8],
    /// Proves that the client knows the old secret.
    #[xdr(max = MAX_OPAQUE_BYTES)]
    pub digest: &'a [u8],
}

/// The results of SET_SSV.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Encode, Decode)]
pub struct SetSsvOk<'a> {
    /// Proves that the server knows the new secret.
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
