//! REMOVEXATTR removes an extended attribute (RFC 8276 §8.4.4).

use xdr::{Decode, Encode};

use super::{ChangeInfo, Component, CompoundOperation, OpNumber, Res};

/// The arguments of REMOVEXATTR.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Encode, Decode)]
pub struct RemovexattrArgs<'a> {
    /// The name, without `user.` in front.
    pub name: Component<'a>,
}

/// REMOVEXATTR removes an extended attribute.
#[derive(Debug, Clone, Copy)]
pub struct Removexattr;

impl CompoundOperation for Removexattr {
    const NUMBER: OpNumber = OpNumber::Removexattr;
    type Arguments<'a> = RemovexattrArgs<'a>;
    type Reply<'a> = Res<ChangeInfo>;
}
