//! READLINK reads the target of a symbolic link (RFC 7530 §16.25, RFC 8881 §18.24).

use xdr::{Decode, Encode};

use super::{CompoundOperation, MAX_LINK_BYTES, OpNumber, Res};

/// The results of READLINK.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Encode, Decode)]
pub struct ReadlinkOk<'a> {
    /// The target.
    #[xdr(max = MAX_LINK_BYTES)]
    pub target: &'a [u8],
}

/// READLINK reads the target of a symbolic link.
#[derive(Debug, Clone, Copy)]
pub struct Readlink;

impl CompoundOperation for Readlink {
    const NUMBER: OpNumber = OpNumber::Readlink;
    type Arguments<'a> = ();
    type Reply<'a> = Res<ReadlinkOk<'a>>;
}
