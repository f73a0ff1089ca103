//! CB_RECALL_ANY recalls some delegations and layouts (RFC 8881 §20.6).

use xdr::{Decode, Encode};

use crate::nfs4::{Bitmap, CallbackNumber, CallbackOperation, Res};

/// The arguments of CB_RECALL_ANY.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Encode, Decode)]
pub struct CbRecallAnyArgs {
    /// The number that the client may keep.
    pub objects_to_keep: u32,
    /// The kinds to recall: a set of the `RECALL_ANY_…` numbers.
    pub types: Bitmap,
}

/// Delegations for reading.
pub const RECALL_ANY_READ_DELEGATION: u32 = 0;
/// Delegations for writing.
pub const RECALL_ANY_WRITE_DELEGATION: u32 = 1;
/// Delegations of directories.
pub const RECALL_ANY_DIR_DELEGATION: u32 = 2;

/// CB_RECALL_ANY recalls some delegations and layouts.
#[derive(Debug, Clone, Copy)]
pub struct CbRecallAny;

impl CallbackOperation for CbRecallAny {
    const NUMBER: CallbackNumber = CallbackNumber::CbRecallAny;
    type Arguments<'a> = CbRecallAnyArgs;
    type Reply<'a> = Res<()>;
}
