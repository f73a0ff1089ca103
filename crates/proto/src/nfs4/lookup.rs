//! LOOKUP finds a name (RFC 7530 §16.13, RFC 8881 §18.13).

use xdr::{Decode, Encode};

use super::{Component, CompoundOperation, OpNumber, Res};

/// The arguments of LOOKUP.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Encode, Decode)]
pub struct LookupArgs<'a> {
    /// The name in the current directory.
    pub name: Component<'a>,
}

/// LOOKUP finds a name.
#[derive(Debug, Clone, Copy)]
pub struct Lookup;

impl CompoundOperation for Lookup {
    const NUMBER: OpNumber = OpNumber::Lookup;
    type Arguments<'a> = LookupArgs<'a>;
    type Reply<'a> = Res<()>;
}
