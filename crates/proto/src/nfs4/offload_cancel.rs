//! OFFLOAD_CANCEL stops a copy (RFC 7862 §15.8).

use xdr::{Decode, Encode};

use super::{CompoundOperation, OpNumber, Res, Stateid};

/// The arguments of OFFLOAD_CANCEL.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Encode, Decode)]
pub struct OffloadCancelArgs {
    /// The copy.
    pub stateid: Stateid,
}

/// OFFLOAD_CANCEL stops a copy.
#[derive(Debug, Clone, Copy)]
pub struct OffloadCancel;

impl CompoundOperation for OffloadCancel {
    const NUMBER: OpNumber = OpNumber::OffloadCancel;
    type Arguments<'a> = OffloadCancelArgs;
    type Reply<'a> = Res<()>;
}
