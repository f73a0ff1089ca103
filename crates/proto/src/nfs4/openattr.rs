//! OPENATTR opens the directory of named attributes (RFC 7530 §16.17, RFC 8881 §18.17).

use xdr::{Decode, Encode};

use super::{CompoundOperation, OpNumber, Res};

/// The arguments of OPENATTR.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Encode, Decode)]
pub struct OpenattrArgs {
    /// Whether to create the directory if it does not exist.
    pub create: bool,
}

/// OPENATTR opens the directory of named attributes.
#[derive(Debug, Clone, Copy)]
pub struct Openattr;

impl CompoundOperation for Openattr {
    const NUMBER: OpNumber = OpNumber::Openattr;
    type Arguments<'a> = OpenattrArgs;
    type Reply<'a> = Res<()>;
}
