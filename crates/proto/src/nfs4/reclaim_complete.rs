//! RECLAIM_COMPLETE says that nothing more will be reclaimed (RFC 8881 §18.51).

use xdr::{Decode, Encode};

use super::{CompoundOperation, OpNumber, Res};

/// What RECLAIM_COMPLETE needs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Encode, Decode)]
pub struct ReclaimCompleteArgs {
    /// Whether it is about the file system of the current file only.
    pub one_fs: bool,
}

/// RECLAIM_COMPLETE says that nothing more will be reclaimed.
#[derive(Debug, Clone, Copy)]
pub struct ReclaimComplete;

impl CompoundOperation for ReclaimComplete {
    const NUMBER: OpNumber = OpNumber::ReclaimComplete;
    type Arguments<'a> = ReclaimCompleteArgs;
    type Reply<'a> = Res<()>;
}
