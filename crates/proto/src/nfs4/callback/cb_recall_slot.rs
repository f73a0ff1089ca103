//! CB_RECALL_SLOT reduces the number of slots (RFC 8881 §20.8).

use xdr::{Decode, Encode};

use crate::nfs4::{CallbackNumber, CallbackOperation, Res, SlotId};

/// The arguments of CB_RECALL_SLOT.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Encode, Decode)]
pub struct CbRecallSlotArgs {
    /// The highest slot that the server wants the client to use.
    pub target_highest_slot: SlotId,
}

/// CB_RECALL_SLOT reduces the number of slots.
#[derive(Debug, Clone, Copy)]
pub struct CbRecallSlot;

impl CallbackOperation for CbRecallSlot {
    const NUMBER: CallbackNumber = CallbackNumber::CbRecallSlot;
    type Arguments<'a> = CbRecallSlotArgs;
    type Reply<'a> = Res<()>;
}
