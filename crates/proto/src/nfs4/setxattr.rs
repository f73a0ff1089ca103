//! SETXATTR sets an extended attribute (RFC 8276 §8.4.2).

use xdr::{Decode, Encode};

use super::{ChangeInfo, Component, CompoundOperation, MAX_XATTR_BYTES, OpNumber, Res};

/// What SETXATTR needs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Encode, Decode)]
pub struct SetxattrArgs<'a> {
    /// What to do if there is or is not such an attribute.
    pub option: SetxattrOption,
    /// The name, without `user.` in front.
    pub name: Component<'a>,
    /// The value.
    #[xdr(max = MAX_XATTR_BYTES)]
    pub value: &'a [u8],
}

/// Whether to make an attribute or to replace it (`setxattr_option4`).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Encode, Decode)]
pub enum SetxattrOption {
    /// Make it or replace it.
    Either = 0,
    /// Refuse if there is one.
    Create = 1,
    /// Refuse if there is none.
    Replace = 2,
}

/// SETXATTR sets an extended attribute.
#[derive(Debug, Clone, Copy)]
pub struct Setxattr;

impl CompoundOperation for Setxattr {
    const NUMBER: OpNumber = OpNumber::Setxattr;
    type Arguments<'a> = SetxattrArgs<'a>;
    type Reply<'a> = Res<ChangeInfo>;
}
