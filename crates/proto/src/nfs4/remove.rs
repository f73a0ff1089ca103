//! REMOVE removes a name (RFC 7530 §16.26, RFC 8881 §18.25).

use xdr::{Decode, Encode};

use super::{ChangeInfo, Component, CompoundOperation, OpNumber, Res};

/// The arguments of REMOVE.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Encode, Decode)]
pub struct RemoveArgs<'a> {
    /// The name in the current directory.
    pub target: Component<'a>,
}

/// REMOVE removes a name.
#[derive(Debug, Clone, Copy)]
pub struct Remove;

impl CompoundOperation for Remove {
    const NUMBER: OpNumber = OpNumber::Remove;
    type Arguments<'a> = RemoveArgs<'a>;
    type Reply<'a> = Res<ChangeInfo>;
}
