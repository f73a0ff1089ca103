//! CB_NOTIFY_LOCK reports that a lock may be available now (RFC 8881 §20.11).

use xdr::{Decode, Encode};

use crate::nfs4::{CallbackNumber, CallbackOperation, FileHandle, Res, StateOwner};

/// The arguments of CB_NOTIFY_LOCK.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Encode, Decode)]
pub struct CbNotifyLockArgs<'a> {
    /// The file.
    pub file: FileHandle,
    /// The owner that waits for the lock.
    pub owner: StateOwner<'a>,
}

/// CB_NOTIFY_LOCK reports that a lock may be available now.
#[derive(Debug, Clone, Copy)]
pub struct CbNotifyLock;

impl CallbackOperation for CbNotifyLock {
    const NUMBER: CallbackNumber = CallbackNumber::CbNotifyLock;
    type Arguments<'a> = CbNotifyLockArgs<'a>;
    type Reply<'a> = Res<()>;
}
