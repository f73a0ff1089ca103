//! GETATTR gets attributes (RFC 7530 §16.7, RFC 8881 §18.7).

use xdr::{Decode, Encode};

use super::{Bitmap, CompoundOperation, Fattr, OpNumber, Res};

/// The arguments of GETATTR.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Encode, Decode)]
pub struct GetattrArgs {
    /// The requested attributes; the reply omits those that the server does not support.
    pub request: Bitmap,
}

/// GETATTR gets attributes.
#[derive(Debug, Clone, Copy)]
pub struct Getattr;

impl CompoundOperation for Getattr {
    const NUMBER: OpNumber = OpNumber::Getattr;
    type Arguments<'a> = GetattrArgs;
    type Reply<'a> = Res<Fattr<'a>>;
}
