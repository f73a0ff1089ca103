use xdr::{Decode, Encode};

use super::{
    AccessOk, BindConnToSessionOk, Bitmap, ChangeInfo, CopyNotifyOk, CopyOk, CopyRequirements, CreateOk,
    CreateSessionOk, Delegation, DirDelegation, ExchangeIdOk, Fattr, FileHandle, GetxattrOk, ListxattrsOk, LockDenied,
    LockOk, NetAddr, OP_ILLEGAL, OffloadStatusOk, OpNumber, OpenOk, ReadOk, ReadPlusOk, ReaddirOk, ReadlinkOk,
    RenameOk, Res, ResOr, SecinfoOk, SeekOk, SequenceOk, SetSsvOk, SetattrReply, SetclientidOk, Stateid, Status,
    TestStateidOk, Verifier, WriteOk, WriteResponse,
};

/// An operation of a COMPOUND with its results (`nfs_resop4`).
#[derive(Debug, Clone, PartialEq, Eq, Encode, Decode)]
pub enum ResOp<'a> {
    /// ACCESS.
    #[xdr(case = OpNumber::Access)]
    Access(Res<AccessOk>),
    /// CLOSE.
    #[xdr(case = OpNumber::Close)]
    Close(Res<Stateid>),
    /// COMMIT.
    #[xdr(case = OpNumber::Commit)]
    Commit(Res<Verifier>),
    /// CREATE.
    #[xdr(case = OpNumber::Create)]
    Create(Res<CreateOk>),
    /// DELEGPURGE.
    #[xdr(case = OpNumber::Delegpurge)]
    Delegpurge(Res<()>),
    /// DELEGRETURN.
    #[xdr(case = OpNumber::Delegreturn)]
    Delegreturn(Res<()>),
    /// GETATTR.
    #[xdr(case = OpNumber::Getattr)]
    Getattr(Res<Fattr<'a>>),
    /// GETFH.
    #[xdr(case = OpNumber::Getfh)]
    Getfh(Res<FileHandle>),
    /// LINK.
    #[xdr(case = OpNumber::Link)]
    Link(Res<ChangeInfo>),
    /// LOCK.
    #[xdr(case = OpNumber::Lock)]
    Lock(ResOr<LockOk, LockDenied<'a>, { Status::Denied as u32 }>),
    /// LOCKT.
    #[xdr(case = OpNumber::Lockt)]
    Lockt(ResOr<(), LockDenied<'a>, { Status::Denied as u32 }>),
    /// LOCKU.
    #[xdr(case = OpNumber::Locku)]
    Locku(Res<Stateid>),
    /// LOOKUP.
    #[xdr(case = OpNumber::Lookup)]
    Lookup(Res<()>),
    /// LOOKUPP.
    #[xdr(case = OpNumber::Lookupp)]
    Lookupp(Res<()>),
    /// NVERIFY.
    #[xdr(case = OpNumber::Nverify)]
    Nverify(Res<()>),
    /// OPEN.
    #[xdr(case = OpNumber::Open)]
    Open(Res<OpenOk<'a>>),
    /// OPENATTR.
    #[xdr(case = OpNumber::Openattr)]
    Openattr(Res<()>),
    /// OPEN_CONFIRM.
    #[xdr(case = OpNumber::OpenConfirm)]
    OpenConfirm(Res<Stateid>),
    /// OPEN_DOWNGRADE.
    #[xdr(case = OpNumber::OpenDowngrade)]
    OpenDowngrade(Res<Stateid>),
    /// PUTFH.
    #[xdr(case = OpNumber::Putfh)]
    Putfh(Res<()>),
    /// PUTPUBFH.
    #[xdr(case = OpNumber::Putpubfh)]
    Putpubfh(Res<()>),
    /// PUTROOTFH.
    #[xdr(case = OpNumber::Putrootfh)]
    Putrootfh(Res<()>),
    /// READ.
    #[xdr(case = OpNumber::Read)]
    Read(Res<ReadOk<'a>>),
    /// READDIR.
    #[xdr(case = OpNumber::Readdir)]
    Readdir(Res<ReaddirOk<'a>>),
    /// READLINK.
    #[xdr(case = OpNumber::Readlink)]
    Readlink(Res<ReadlinkOk<'a>>),
    /// REMOVE.
    #[xdr(case = OpNumber::Remove)]
    Remove(Res<ChangeInfo>),
    /// RENAME.
    #[xdr(case = OpNumber::Rename)]
    Rename(Res<RenameOk>),
    /// RENEW.
    #[xdr(case = OpNumber::Renew)]
    Renew(Res<()>),
    /// RESTOREFH.
    #[xdr(case = OpNumber::Restorefh)]
    Restorefh(Res<()>),
    /// SAVEFH.
    #[xdr(case = OpNumber::Savefh)]
    Savefh(Res<()>),
    /// SECINFO.
    #[xdr(case = OpNumber::Secinfo)]
    Secinfo(Res<SecinfoOk<'a>>),
    /// SETATTR.
    #[xdr(case = OpNumber::Setattr)]
    Setattr(SetattrReply),
    /// SETCLIENTID.
    #[xdr(case = OpNumber::Setclientid)]
    Setclientid(ResOr<SetclientidOk, NetAddr<'a>, { Status::ClidInUse as u32 }>),
    /// SETCLIENTID_CONFIRM.
    #[xdr(case = OpNumber::SetclientidConfirm)]
    SetclientidConfirm(Res<()>),
    /// VERIFY.
    #[xdr(case = OpNumber::Verify)]
    Verify(Res<()>),
    /// WRITE.
    #[xdr(case = OpNumber::Write)]
    Write(Res<WriteOk>),
    /// RELEASE_LOCKOWNER.
    #[xdr(case = OpNumber::ReleaseLockowner)]
    ReleaseLockowner(Res<()>),
    /// BACKCHANNEL_CTL.
    #[xdr(case = OpNumber::BackchannelCtl)]
    BackchannelCtl(Res<()>),
    /// BIND_CONN_TO_SESSION.
    #[xdr(case = OpNumber::BindConnToSession)]
    BindConnToSession(Res<BindConnToSessionOk>),
    /// EXCHANGE_ID.
    #[xdr(case = OpNumber::ExchangeId)]
    ExchangeId(Res<ExchangeIdOk<'a>>),
    /// CREATE_SESSION.
    #[xdr(case = OpNumber::CreateSession)]
    CreateSession(Res<CreateSessionOk>),
    /// DESTROY_SESSION.
    #[xdr(case = OpNumber::DestroySession)]
    DestroySession(Res<()>),
    /// FREE_STATEID.
    #[xdr(case = OpNumber::FreeStateid)]
    FreeStateid(Res<()>),
    /// GET_DIR_DELEGATION.
    #[xdr(case = OpNumber::GetDirDelegation)]
    GetDirDelegation(Res<DirDelegation>),
    /// SECINFO_NO_NAME.
    #[xdr(case = OpNumber::SecinfoNoName)]
    SecinfoNoName(Res<SecinfoOk<'a>>),
    /// SEQUENCE.
    #[xdr(case = OpNumber::Sequence)]
    Sequence(Res<SequenceOk>),
    /// SET_SSV.
    #[xdr(case = OpNumber::SetSsv)]
    SetSsv(Res<SetSsvOk<'a>>),
    /// TEST_STATEID.
    #[xdr(case = OpNumber::TestStateid)]
    TestStateid(Res<TestStateidOk>),
    /// WANT_DELEGATION.
    #[xdr(case = OpNumber::WantDelegation)]
    WantDelegation(Res<Delegation<'a>>),
    /// DESTROY_CLIENTID.
    #[xdr(case = OpNumber::DestroyClientid)]
    DestroyClientid(Res<()>),
    /// RECLAIM_COMPLETE.
    #[xdr(case = OpNumber::ReclaimComplete)]
    ReclaimComplete(Res<()>),
    /// ALLOCATE.
    #[xdr(case = OpNumber::Allocate)]
    Allocate(Res<()>),
    /// COPY.
    #[xdr(case = OpNumber::Copy)]
    Copy(ResOr<CopyOk, CopyRequirements, { Status::OffloadNoReqs as u32 }>),
    /// COPY_NOTIFY.
    #[xdr(case = OpNumber::CopyNotify)]
    CopyNotify(Res<CopyNotifyOk<'a>>),
    /// DEALLOCATE.
    #[xdr(case = OpNumber::Deallocate)]
    Deallocate(Res<()>),
    /// IO_ADVISE.
    #[xdr(case = OpNumber::IoAdvise)]
    IoAdvise(Res<Bitmap>),
    /// OFFLOAD_CANCEL.
    #[xdr(case = OpNumber::OffloadCancel)]
    OffloadCancel(Res<()>),
    /// OFFLOAD_STATUS.
    #[xdr(case = OpNumber::OffloadStatus)]
    OffloadStatus(Res<OffloadStatusOk>),
    /// READ_PLUS.
    #[xdr(case = OpNumber::ReadPlus)]
    ReadPlus(Res<ReadPlusOk<'a>>),
    /// SEEK.
    #[xdr(case = OpNumber::Seek)]
    Seek(Res<SeekOk>),
    /// WRITE_SAME.
    #[xdr(case = OpNumber::WriteSame)]
    WriteSame(Res<WriteResponse>),
    /// CLONE.
    #[xdr(case = OpNumber::Clone)]
    Clone(Res<()>),
    /// GETXATTR.
    #[xdr(case = OpNumber::Getxattr)]
    Getxattr(Res<GetxattrOk<'a>>),
    /// SETXATTR.
    #[xdr(case = OpNumber::Setxattr)]
    Setxattr(Res<ChangeInfo>),
    /// LISTXATTRS.
    #[xdr(case = OpNumber::Listxattrs)]
    Listxattrs(Res<ListxattrsOk<'a>>),
    /// REMOVEXATTR.
    #[xdr(case = OpNumber::Removexattr)]
    Removexattr(Res<ChangeInfo>),
    /// An unknown operation: the status is OP_ILLEGAL.
    #[xdr(case = OP_ILLEGAL)]
    Illegal(Status),
}
