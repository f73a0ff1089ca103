//! NVERIFY continues if attributes differ (RFC 7530 §16.15, RFC 8881 §18.15).

use xdr::{Decode, Encode};

use super::{CompoundOperation, Fattr, OpNumber, Res};

/// The arguments of NVERIFY.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Encode, Decode)]
pub struct NverifyArgs<'a> {
    /// The attributes; if all are equal, the status is SAME.
    pub attributes: Fattr<'a>,
}

/// NVERIFY continues if attributes differ.
#[derive(Debug, Clone, Copy)]
pub struct Nverify;

impl CompoundOperation for Nverify {
    const NUMBER: OpNumber = OpNumber::Nverify;
    type Arguments<'a> = NverifyArgs<'a>;
    type Reply<'a> = Res<()>;
}
