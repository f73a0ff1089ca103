//! OFFLOAD_STATUS tells how far a copy is (RFC 7862 §15.9).

use xdr::{Decode, Encode};

use super::{CompoundOperation, OpNumber, Res, Stateid, Status};

/// What OFFLOAD_STATUS needs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Encode, Decode)]
pub struct OffloadStatusArgs {
    /// The copy.
    pub stateid: Stateid,
}

/// What OFFLOAD_STATUS tells.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Encode, Decode)]
pub struct OffloadStatusOk {
    /// How many bytes were copied.
    pub count: u64,
    /// What came of it, if it has ended.
    pub complete: Option<Status>,
}

/// OFFLOAD_STATUS tells how far a copy is.
#[derive(Debug, Clone, Copy)]
pub struct OffloadStatus;

impl CompoundOperation for OffloadStatus {
    const NUMBER: OpNumber = OpNumber::OffloadStatus;
    type Arguments<'a> = OffloadStatusArgs;
    type Reply<'a> = Res<OffloadStatusOk>;
}
