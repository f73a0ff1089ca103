//! CB_RECALLABLE_OBJ_AVAIL tells that there are resources for delegations and layouts again (RFC 8881 §20.7).

use crate::nfs4::{CallbackNumber, CallbackOperation, CbRecallAnyArgs, Res};

/// CB_RECALLABLE_OBJ_AVAIL tells that there are resources for delegations and layouts again.
#[derive(Debug, Clone, Copy)]
pub struct CbRecallableObjAvail;

impl CallbackOperation for CbRecallableObjAvail {
    const NUMBER: CallbackNumber = CallbackNumber::CbRecallableObjAvail;
    type Arguments<'a> = CbRecallAnyArgs;
    type Reply<'a> = Res<()>;
}
