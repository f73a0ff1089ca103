//! OFFLOAD_STATUS returns the progress of a copy (RFC 7862 §15.9).

use xdr::{Decode, Encode};

use super::{CompoundOperation, OpNumber, Res, Stateid, Status};

/// The arguments of OFFLOAD_STATUS.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Encode, Decode)]
pub struct OffloadStatusArgs {
    /// The copy.
    pub stateid: Stateid,
}

/// The results of OFFLOAD_STATUS.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Encode, Decode)]
pub struct OffloadStatusOk {
    /// The number of bytes copied.
    pub count: u64,
    /// The result, if it has ended.
    pub complete: Option<Status>,
}

/// OFFLOAD_STATUS returns the progress of a copy.
#[derive(Debug, Clone, Copy)]
pub struct OffloadStatus;

impl CompoundOperation for OffloadStatus {
    const NUMBER: OpNumber = OpNumber::OffloadStatus;
    type Arguments<'a> = OffloadStatusArgs;
    type Reply<'a> = Res<OffloadStatusOk>;
}
