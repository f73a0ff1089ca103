//! CB_RECALL recalls a delegation (RFC 7530 §18.2, RFC 8881 §20.2).

use xdr::{Decode, Encode};

use crate::nfs4::{CallbackNumber, CallbackOperation, FileHandle, Res, Stateid};

/// The arguments of CB_RECALL.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Encode, Decode)]
pub struct CbRecallArgs {
    /// The delegation.
    pub stateid: Stateid,
    /// Whether the file is about to be truncated to 0, so that its data need not be written.
    pub truncate: bool,
    /// The file.
    pub file: FileHandle,
}

/// CB_RECALL recalls a delegation.
#[derive(Debug, Clone, Copy)]
pub struct CbRecall;

impl CallbackOperation for CbRecall {
    const NUMBER: CallbackNumber = CallbackNumber::CbRecall;
    type Arguments<'a> = CbRecallArgs;
    type Reply<'a> = Res<()>;
}
