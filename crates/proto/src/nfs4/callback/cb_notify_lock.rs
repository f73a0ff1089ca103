//! CB_NOTIFY_LOCK tells that a lock may be had now (RFC 8881 §20.11).

use xdr::{Decode, Encode};

use crate::nfs4::{CallbackNumber, CallbackOperation, FileHandle, Res, StateOwner};

/// What CB_NOTIFY_LOCK needs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Encode, Decode)]
pub struct CbNotifyLockArgs<'a> {
    /// The file.
    pub file: FileHandle,
    /// Who wants the lock.
    pub owner: StateOwner<'a>,
}

/// CB_NOTIFY_LOCK tells that a lock may be had now.
#[derive(Debug, Clone, Copy)]
pub struct CbNotifyLock;

impl CallbackOperation for CbNotifyLock {
    const NUMBER: CallbackNumber = CallbackNumber::CbNotifyLock;
    type Arguments<'a> = CbNotifyLockArgs<'a>;
    type Reply<'a> = Res<()>;
}
