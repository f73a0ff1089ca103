//! GETXATTR gets an extended attribute (RFC 8276 §8.4.1).

use xdr::{Decode, Encode};

use super::{Component, CompoundOperation, MAX_XATTR_BYTES, OpNumber, Res};

/// The arguments of GETXATTR.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Encode, Decode)]
pub struct GetxattrArgs<'a> {
    /// The name, without `user.` in front.
    pub name: Component<'a>,
}

/// The results of GETXATTR.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Encode, Decode)]
pub struct GetxattrOk<'a> {
    /// The value.
    #[xdr(max = MAX_XATTR_BYTES)]
    pub value: &'a [u8],
}

/// GETXATTR gets an extended attribute.
#[derive(Debug, Clone, Copy)]
pub struct Getxattr;

impl CompoundOperation for Getxattr {
    const NUMBER: OpNumber = OpNumber::Getxattr;
    type Arguments<'a> = GetxattrArgs<'a>;
    type Reply<'a> = Res<GetxattrOk<'a>>;
}
