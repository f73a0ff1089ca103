//! CB_PUSH_DELEG grants a delegation that was requested earlier (RFC 8881 §20.5).

use xdr::{Decode, Encode};

use crate::nfs4::{CallbackNumber, CallbackOperation, Delegation, FileHandle, Res};

/// The arguments of CB_PUSH_DELEG.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Encode, Decode)]
pub struct CbPushDelegArgs<'a> {
    /// The file.
    pub file: FileHandle,
    /// The delegation.
    pub delegation: Delegation<'a>,
}

/// CB_PUSH_DELEG grants a delegation that was requested earlier.
#[derive(Debug, Clone, Copy)]
pub struct CbPushDeleg;

impl CallbackOperation for CbPushDeleg {
    const NUMBER: CallbackNumber = CallbackNumber::CbPushDeleg;
    type Arguments<'a> = CbPushDelegArgs<'a>;
    type Reply<'a> = Res<()>;
}
