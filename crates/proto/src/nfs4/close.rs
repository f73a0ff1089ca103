//! CLOSE ends an open (RFC 7530 §16.2, RFC 8881 §18.2).

use xdr::{Decode, Encode};

use super::{CompoundOperation, OpNumber, Res, Stateid};

/// The arguments of CLOSE.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Encode, Decode)]
pub struct CloseArgs {
    /// The owner's sequence number; ignored from 4.1 on.
    pub seqid: u32,
    /// The open.
    pub open_stateid: Stateid,
}

/// CLOSE ends an open.
#[derive(Debug, Clone, Copy)]
pub struct Close;

impl CompoundOperation for Close {
    const NUMBER: OpNumber = OpNumber::Close;
    type Arguments<'a> = CloseArgs;
    type Reply<'a> = Res<Stateid>;
}
