//! VERIFY continues if attributes are equal (RFC 7530 §16.35, RFC 8881 §18.31).

use xdr::{Decode, Encode};

use super::{CompoundOperation, Fattr, OpNumber, Res};

/// The arguments of VERIFY.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Encode, Decode)]
pub struct VerifyArgs<'a> {
    /// The attributes; if any differs, the status is NOT_SAME.
    pub attributes: Fattr<'a>,
}

/// VERIFY continues if attributes are equal.
#[derive(Debug, Clone, Copy)]
pub struct Verify;

impl CompoundOperation for Verify {
    const NUMBER: OpNumber = OpNumber::Verify;
    type Arguments<'a> = VerifyArgs<'a>;
    type Reply<'a> = Res<()>;
}
