//! CB_RECALLABLE_OBJ_AVAIL reports resources for delegations and layouts (RFC 8881 §20.7).

use crate::nfs4::{CallbackNumber, CallbackOperation, CbRecallAnyArgs, Res};

/// CB_RECALLABLE_OBJ_AVAIL reports resources for delegations and layouts.
#[derive(Debug, Clone, Copy)]
pub struct CbRecallableObjAvail;

impl CallbackOperation for CbRecallableObjAvail {
    const NUMBER: CallbackNumber = CallbackNumber::CbRecallableObjAvail;
    type Arguments<'a> = CbRecallAnyArgs;
    type Reply<'a> = Res<()>;
}
