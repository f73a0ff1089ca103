//! SETATTR sets attributes (RFC 7530 §16.32, RFC 8881 §18.30).

use xdr::{Decode, Encode};

use super::{Bitmap, CompoundOperation, Fattr, OpNumber, Stateid, Status};

/// The arguments of SETATTR.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Encode, Decode)]
pub struct SetattrArgs<'a> {
    /// The open or the delegation under which the length is set; ignored otherwise.
    pub stateid: Stateid,
    /// The attributes to set.
    pub attributes: Fattr<'a>,
}

/// The results of SETATTR, in success and failure.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Encode, Decode)]
pub struct SetattrReply {
    /// The result.
    pub status: Status,
    /// The attributes that were set, even if others failed.
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
