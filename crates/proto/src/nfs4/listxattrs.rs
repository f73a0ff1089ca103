//! LISTXATTRS lists extended attributes (RFC 8276 §8.4.3).

use xdr::{Decode, Encode};

use super::{Component, CompoundOperation, MAX_XATTR_NAMES, OpNumber, Res};

/// The arguments of LISTXATTRS.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Encode, Decode)]
pub struct ListxattrsArgs {
    /// The cookie of the last reply, or 0.
    pub cookie: u64,
    /// The most bytes of the results.
    pub max_count: u32,
}

/// The results of LISTXATTRS.
#[derive(Debug, Clone, PartialEq, Eq, Encode, Decode)]
pub struct ListxattrsOk<'a> {
    /// The position to continue at.
    pub cookie: u64,
    /// The names, without `user.` in front.
    #[xdr(max = MAX_XATTR_NAMES)]
    pub names: Vec<Component<'a>>,
    /// Whether the list is complete.
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
