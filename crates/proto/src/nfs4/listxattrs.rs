//! LISTXATTRS lists extended attributes (RFC 8276 §8.4.3).

use xdr::{Decode, Encode};

use super::{Component, CompoundOperation, MAX_XATTR_NAMES, OpNumber, Res};

/// What LISTXATTRS needs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Encode, Decode)]
pub struct ListxattrsArgs {
    /// What the last reply told, or 0.
    pub cookie: u64,
    /// The most bytes of the results.
    pub max_count: u32,
}

/// What LISTXATTRS tells.
#[derive(Debug, Clone, PartialEq, Eq, Encode, Decode)]
pub struct ListxattrsOk<'a> {
    /// Where to go on.
    pub cookie: u64,
    /// The names, without `user.` in front.
    #[xdr(max = MAX_XATTR_NAMES)]
    pub names: Vec<Component<'a>>,
    /// Whether there are no more.
    pub eof: bool,
}

/// LISTXATTRS lists extended attributes.
#[derive(Debug, Clone, Copy)]
pub struct Listxattrs;

impl CompoundOperation for Listxattrs {
    const NUMBER: OpNumber = OpNumber::Listxattrs;
    type Arguments<'a> = ListxattrsArgs;
    type Reply<'a> = Res<ListxattrsOk<'a>>;
}
