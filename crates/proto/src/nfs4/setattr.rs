//! SETATTR sets attributes (RFC 7530 §16.32, RFC 8881 §18.30).

use xdr::{Decode, Encode};

use super::{Bitmap, CompoundOperation, Fattr, OpNumber, Stateid, Status};

/// What SETATTR needs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Encode, Decode)]
pub struct SetattrArgs<'a> {
    /// The open or the delegation under which the length is set; not looked at otherwise.
    pub stateid: Stateid,
    /// What to set.
    pub attributes: Fattr<'a>,
}

/// What SETATTR tells, whether it succeeds or fails.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Encode, Decode)]
pub struct SetattrReply {
    /// What came of it.
    pub status: Status,
    /// What was set, also when setting something else failed.
    pub attributes_set: Bitmap,
}

/// SETATTR sets attributes.
#[derive(Debug, Clone, Copy)]
pub struct Setattr;

impl CompoundOperation for Setattr {
    const NUMBER: OpNumber = OpNumber::Setattr;
    type Arguments<'a> = SetattrArgs<'a>;
    type Reply<'a> = SetattrReply;
}
