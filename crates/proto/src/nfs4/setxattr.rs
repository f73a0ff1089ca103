//! SETXATTR sets an extended attribute (RFC 8276 §8.4.2).

use xdr::{Decode, Encode};

use super::{ChangeInfo, Component, CompoundOperation, OpNumber, Res};
use crate::MAX_ARGUMENT_BYTES;

/// The arguments of SETXATTR.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Encode, Decode)]
pub struct SetxattrArgs<'a> {
    /// What to do if the attribute does or does not exist.
    pub option: SetxattrOption,
    /// The name, without `user.` in front.
    pub name: Component<'a>,
    /// The value.
    #[xdr(max = MAX_ARGUMENT_BYTES)]
    pub value: &'a [u8],
}

/// Whether to create an attribute or to replace it (`setxattr_option4`).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Encode, Decode)]
pub enum SetxattrOption {
    /// Create it or replace it.
    Either = 0,
    /// Fail if it exists.
    Create = 1,
    /// Fail if it does not exist.
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
