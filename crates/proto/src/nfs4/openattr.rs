//! OPENATTR opens the directory of named attributes (RFC 7530 §16.17, RFC 8881 §18.17).

use xdr::{Decode, Encode};

use super::{CompoundOperation, OpNumber, Res};

/// What OPENATTR needs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Encode, Decode)]
pub struct OpenattrArgs {
    /// Whether to make the directory if there is none.
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
