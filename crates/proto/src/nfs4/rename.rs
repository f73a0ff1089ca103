//! RENAME moves a name (RFC 7530 §16.27, RFC 8881 §18.26).

use xdr::{Decode, Encode};

use super::{ChangeInfo, Component, CompoundOperation, OpNumber, Res};

/// The arguments of RENAME.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Encode, Decode)]
pub struct RenameArgs<'a> {
    /// The name in the saved directory.
    pub old_name: Component<'a>,
    /// The name in the current directory.
    pub new_name: Component<'a>,
}

/// The results of RENAME.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Encode, Decode)]
pub struct RenameOk {
    /// The change attribute of the old directory.
    pub source: ChangeInfo,
    /// The change attribute of the new directory.
    pub target: ChangeInfo,
}

/// RENAME moves a name.
#[derive(Debug, Clone, Copy)]
pub struct Rename;

impl CompoundOperation for Rename {
    const NUMBER: OpNumber = OpNumber::Rename;
    type Arguments<'a> = RenameArgs<'a>;
    type Reply<'a> = Res<RenameOk>;
}
