use xdr::{Decode, Encode};

use crate::nfs4::{
    CallbackNumber, CbGetattrArgs, CbNotifyLockArgs, CbOffloadArgs, CbPushDelegArgs, CbRecallAnyArgs, CbRecallArgs,
    CbRecallSlotArgs, CbSequenceArgs, CbSequenceOk, CbWantsCancelledArgs, Fattr, OP_ILLEGAL, Res, Status,
};

/// An operation of a CB_COMPOUND with its arguments (`nfs_cb_argop4`).
///
/// Operations on layouts and directory delegations are missing: a client that supports neither answers NOTSUPP.
#[derive(Debug, Clone, PartialEq, Eq, Encode, Decode)]
pub enum CallbackArgOp<'a> {
    /// CB_GETATTR.
    #[xdr(case = CallbackNumber::CbGetattr)]
    CbGetattr(CbGetattrArgs),
    /// CB_RECALL.
    #[xdr(case = CallbackNumber::CbRecall)]
    CbRecall(CbRecallArgs),
    /// CB_PUSH_DELEG.
    #[xdr(case = CallbackNumber::CbPushDeleg)]
    CbPushDeleg(CbPushDelegArgs<'a>),
    /// CB_RECALL_ANY.
    #[xdr(case = CallbackNumber::CbRecallAny)]
    CbRecallAny(CbRecallAnyArgs),
    /// CB_RECALLABLE_OBJ_AVAIL.
    #[xdr(case = CallbackNumber::CbRecallableObjAvail)]
    CbRecallableObjAvail(CbRecallAnyArgs),
    /// CB_RECALL_SLOT.
    #[xdr(case = CallbackNumber::CbRecallSlot)]
    CbRecallSlot(CbRecallSlotArgs),
    /// CB_SEQUENCE.
    #[xdr(case = CallbackNumber::CbSequence)]
    CbSequence(CbSequenceArgs),
    /// CB_WANTS_CANCELLED.
    #[xdr(case = CallbackNumber::CbWantsCancelled)]
    CbWantsCancelled(CbWantsCancelledArgs),
    /// CB_NOTIFY_LOCK.
    #[xdr(case = CallbackNumber::CbNotifyLock)]
    CbNotifyLock(CbNotifyLockArgs<'a>),
    /// CB_OFFLOAD.
    #[xdr(case = CallbackNumber::CbOffload)]
    CbOffload(CbOffloadArgs),
    /// Not an operation.
    #[xdr(case = OP_ILLEGAL)]
    Illegal,
}

/// An operation of a CB_COMPOUND with its results (`nfs_cb_resop4`).
#[derive(Debug, Clone, PartialEq, Eq, Encode, Decode)]
pub enum CallbackResOp<'a> {
    /// CB_GETATTR.
    #[xdr(case = CallbackNumber::CbGetattr)]
    CbGetattr(Res<Fattr<'a>>),
    /// CB_RECALL.
    #[xdr(case = CallbackNumber::CbRecall)]
    CbRecall(Res<()>),
    /// CB_PUSH_DELEG.
    #[xdr(case = CallbackNumber::CbPushDeleg)]
    CbPushDeleg(Res<()>),
    /// CB_RECALL_ANY.
    #[xdr(case = CallbackNumber::CbRecallAny)]
    CbRecallAny(Res<()>),
    /// CB_RECALLABLE_OBJ_AVAIL.
    #[xdr(case = CallbackNumber::CbRecallableObjAvail)]
    CbRecallableObjAvail(Res<()>),
    /// CB_RECALL_SLOT.
    #[xdr(case = CallbackNumber::CbRecallSlot)]
    CbRecallSlot(Res<()>),
    /// CB_SEQUENCE.
    #[xdr(case = CallbackNumber::CbSequence)]
    CbSequence(Res<CbSequenceOk>),
    /// CB_WANTS_CANCELLED.
    #[xdr(case = CallbackNumber::CbWantsCancelled)]
    CbWantsCancelled(Res<()>),
    /// CB_NOTIFY_LOCK.
    #[xdr(case = CallbackNumber::CbNotifyLock)]
    CbNotifyLock(Res<()>),
    /// CB_OFFLOAD.
    #[xdr(case = CallbackNumber::CbOffload)]
    CbOffload(Res<()>),
    /// An unknown operation: the status is OP_ILLEGAL.
    #[xdr(case = OP_ILLEGAL)]
    Illegal(Status),
}
