//! RECLAIM_COMPLETE ends reclaiming (RFC 8881 §18.51).

use xdr::{Decode, Encode};

use super::{CompoundOperation, OpNumber, Res};

/// The arguments of RECLAIM_COMPLETE.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Encode, Decode)]
pub struct ReclaimCompleteArgs {
    /// Whether only the file system of the current file is meant.
    pub one_fs: bool,
}

/// RECLAIM_COMPLETE ends reclaiming.
#[derive(Debug, Clone, Copy)]
pub struct ReclaimComplete;

impl CompoundOperation for ReclaimComplete {
    const NUMBER: OpNumber = OpNumber::ReclaimComplete;
    type Arguments<'a> = ReclaimCompleteArgs;
    type Reply<'a> = Res<()>;
}
