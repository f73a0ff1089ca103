//! CB_RECALL asks for a delegation back (RFC 7530 §18.2, RFC 8881 §20.2).

use xdr::{Decode, Encode};

use crate::nfs4::{CallbackNumber, CallbackOperation, FileHandle, Res, Stateid};

/// What CB_RECALL needs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Encode, Decode)]
pub struct CbRecallArgs {
    /// The delegation.
    pub stateid: Stateid,
    /// Whether the file is about to be cut to nothing, so that its data need not be written.
    pub truncate: bool,
    /// The file.
    pub file: FileHandle,
}

/// CB_RECALL asks for a delegation back.
#[derive(Debug, Clone, Copy)]
pub struct CbRecall;

impl CallbackOperation for CbRecall {
    const NUMBER: CallbackNumber = CallbackNumber::CbRecall;
    type Arguments<'a> = CbRecallArgs;
    type Reply<'a> = Res<()>;
}
