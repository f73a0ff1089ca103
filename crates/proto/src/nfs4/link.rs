//! LINK adds a name to a file (RFC 7530 §16.9, RFC 8881 §18.9).

use xdr::{Decode, Encode};

use super::{ChangeInfo, Component, CompoundOperation, OpNumber, Res};

/// The arguments of LINK: the saved file gets a name in the current directory.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Encode, Decode)]
pub struct LinkArgs<'a> {
    /// The name.
    pub new_name: Component<'a>,
}

/// LINK adds a name to a file.
#[derive(Debug, Clone, Copy)]
pub struct Link;

impl CompoundOperation for Link {
    const NUMBER: OpNumber = OpNumber::Link;
    type Arguments<'a> = LinkArgs<'a>;
    type Reply<'a> = Res<ChangeInfo>;
}
