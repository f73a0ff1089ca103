use xdr::{Decode, Encode};

use super::{
    AccessArgs, AllocateArgs, BackchannelCtlArgs, BindConnToSessionArgs, CloneArgs, CloseArgs, CommitArgs, CopyArgs,
    CopyNotifyArgs, CreateArgs, CreateSessionArgs, DeallocateArgs, DelegpurgeArgs, DelegreturnArgs,
    DestroyClientidArgs, DestroySessionArgs, ExchangeIdArgs, FreeStateidArgs, GetDirDelegationArgs, GetattrArgs,
    GetxattrArgs, IoAdviseArgs, LinkArgs, ListxattrsArgs, LockArgs, LocktArgs, LockuArgs, LookupArgs, NverifyArgs,
    OP_ILLEGAL, OffloadCancelArgs, OffloadStatusArgs, OpNumber, OpenArgs, OpenConfirmArgs, OpenDowngradeArgs,
    OpenattrArgs, PutfhArgs, ReadArgs, ReadPlusArgs, ReaddirArgs, ReclaimCompleteArgs, ReleaseLockownerArgs,
    RemoveArgs, RemovexattrArgs, RenameArgs, RenewArgs, SecinfoArgs, SecinfoStyle, SeekArgs, SequenceArgs, SetSsvArgs,
    SetattrArgs, SetclientidArgs, SetclientidConfirmArgs, SetxattrArgs, TestStateidArgs, VerifyArgs,
    WantDelegationArgs, WriteArgs, WriteSameArgs,
};

/// An operation of a COMPOUND with its arguments (`nfs_argop4`).
///
/// Operations of pNFS are missing: a server without pNFS answers them before it decodes their arguments.
#[derive(Debug, Clone, PartialEq, Eq, Encode, Decode)]
pub enum ArgOp<'a> {
    /// ACCESS.
    #[xdr(case = OpNumber::Access)]
    Access(AccessArgs),
    /// CLOSE.
    #[xdr(case = OpNumber::Close)]
    Close(CloseArgs),
    /// COMMIT.
    #[xdr(case = OpNumber::Commit)]
    Commit(CommitArgs),
    /// CREATE.
    #[xdr(case = OpNumber::Create)]
    Create(CreateArgs<'a>),
    /// DELEGPURGE.
    #[xdr(case = OpNumber::Delegpurge)]
    Delegpurge(DelegpurgeArgs),
    /// DELEGRETURN.
    #[xdr(case = OpNumber::Delegreturn)]
    Delegreturn(DelegreturnArgs),
    /// GETATTR.
    #[xdr(case = OpNumber::Getattr)]
    Getattr(GetattrArgs),
    /// GETFH.
    #[xdr(case = OpNumber::Getfh)]
    Getfh,
    /// LINK.
    #[xdr(case = OpNumber::Link)]
    Link(LinkArgs<'a>),
    /// LOCK.
    #[xdr(case = OpNumber::Lock)]
    Lock(LockArgs<'a>),
    /// LOCKT.
    #[xdr(case = OpNumber::Lockt)]
    Lockt(LocktArgs<'a>),
    /// LOCKU.
    #[xdr(case = OpNumber::Locku)]
    Locku(LockuArgs),
    /// LOOKUP.
    #[xdr(case = OpNumber::Lookup)]
    Lookup(LookupArgs<'a>),
    /// LOOKUPP.
    #[xdr(case = OpNumber::Lookupp)]
    Lookupp,
    /// NVERIFY.
    #[xdr(case = OpNumber::Nverify)]
    Nverify(NverifyArgs<'a>),
    /// OPEN.
    #[xdr(case = OpNumber::Open)]
    Open(OpenArgs<'a>),
    /// OPENATTR.
    #[xdr(case = OpNumber::Openattr)]
    Openattr(OpenattrArgs),
    /// OPEN_CONFIRM.
    #[xdr(case = OpNumber::OpenConfirm)]
    OpenConfirm(OpenConfirmArgs),
    /// OPEN_DOWNGRADE.
    #[xdr(case = OpNumber::OpenDowngrade)]
    OpenDowngrade(OpenDowngradeArgs),
    /// PUTFH.
    #[xdr(case = OpNumber::Putfh)]
    Putfh(PutfhArgs),
    /// PUTPUBFH.
    #[xdr(case = OpNumber::Putpubfh)]
    Putpubfh,
    /// PUTROOTFH.
    #[xdr(case = OpNumber::Putrootfh)]
    Putrootfh,
    /// READ.
    #[xdr(case = OpNumber::Read)]
    Read(ReadArgs),
    /// READDIR.
    #[xdr(case = OpNumber::Readdir)]
    Readdir(ReaddirArgs),
    /// READLINK.
    #[xdr(case = OpNumber::Readlink)]
    Readlink,
    /// REMOVE.
    #[xdr(case = OpNumber::Remove)]
    Remove(RemoveArgs<'a>),
    /// RENAME.
    #[xdr(case = OpNumber::Rename)]
    Rename(RenameArgs<'a>),
    /// RENEW.
    #[xdr(case = OpNumber::Renew)]
    Renew(RenewArgs),
    /// RESTOREFH.
    #[xdr(case = OpNumber::Restorefh)]
    Restorefh,
    /// SAVEFH.
    #[xdr(case = OpNumber::Savefh)]
    Savefh,
    /// SECINFO.
    #[xdr(case = OpNumber::Secinfo)]
    Secinfo(SecinfoArgs<'a>),
    /// SETATTR.
    #[xdr(case = OpNumber::Setattr)]
    Setattr(SetattrArgs<'a>),
    /// SETCLIENTID.
    #[xdr(case = OpNumber::Setclientid)]
    Setclientid(SetclientidArgs<'a>),
    /// SETCLIENTID_CONFIRM.
    #[xdr(case = OpNumber::SetclientidConfirm)]
    SetclientidConfirm(SetclientidConfirmArgs),
    /// VERIFY.
    #[xdr(case = OpNumber::Verify)]
    Verify(VerifyArgs<'a>),
    /// WRITE.
    #[xdr(case = OpNumber::Write)]
    Write(WriteArgs<'a>),
    /// RELEASE_LOCKOWNER.
    #[xdr(case = OpNumber::ReleaseLockowner)]
    ReleaseLockowner(ReleaseLockownerArgs<'a>),
    /// BACKCHANNEL_CTL.
    #[xdr(case = OpNumber::BackchannelCtl)]
    BackchannelCtl(BackchannelCtlArgs<'a>),
    /// BIND_CONN_TO_SESSION.
    #[xdr(case = OpNumber::BindConnToSession)]
    BindConnToSession(BindConnToSessionArgs),
    /// EXCHANGE_ID.
    #[xdr(case = OpNumber::ExchangeId)]
    ExchangeId(ExchangeIdArgs<'a>),
    /// CREATE_SESSION.
    #[xdr(case = OpNumber::CreateSession)]
    CreateSession(CreateSessionArgs<'a>),
    /// DESTROY_SESSION.
    #[xdr(case = OpNumber::DestroySession)]
    DestroySession(DestroySessionArgs),
    /// FREE_STATEID.
    #[xdr(case = OpNumber::FreeStateid)]
    FreeStateid(FreeStateidArgs),
    /// GET_DIR_DELEGATION.
    #[xdr(case = OpNumber::GetDirDelegation)]
    GetDirDelegation(GetDirDelegationArgs),
    /// SECINFO_NO_NAME.
    #[xdr(case = OpNumber::SecinfoNoName)]
    SecinfoNoName(SecinfoStyle),
    /// SEQUENCE.
    #[xdr(case = OpNumber::Sequence)]
    Sequence(SequenceArgs),
    /// SET_SSV.
    #[xdr(case = OpNumber::SetSsv)]
    SetSsv(SetSsvArgs<'a>),
    /// TEST_STATEID.
    #[xdr(case = OpNumber::TestStateid)]
    TestStateid(TestStateidArgs),
    /// WANT_DELEGATION.
    #[xdr(case = OpNumber::WantDelegation)]
    WantDelegation(WantDelegationArgs),
    /// DESTROY_CLIENTID.
    #[xdr(case = OpNumber::DestroyClientid)]
    DestroyClientid(DestroyClientidArgs),
    /// RECLAIM_COMPLETE.
    #[xdr(case = OpNumber::ReclaimComplete)]
    ReclaimComplete(ReclaimCompleteArgs),
    /// ALLOCATE.
    #[xdr(case = OpNumber::Allocate)]
    Allocate(AllocateArgs),
    /// COPY.
    #[xdr(case = OpNumber::Copy)]
    Copy(CopyArgs<'a>),
    /// COPY_NOTIFY.
    #[xdr(case = OpNumber::CopyNotify)]
    CopyNotify(CopyNotifyArgs<'a>),
    /// DEALLOCATE.
    #[xdr(case = OpNumber::Deallocate)]
    Deallocate(DeallocateArgs),
    /// IO_ADVISE.
    #[xdr(case = OpNumber::IoAdvise)]
    IoAdvise(IoAdviseArgs),
    /// OFFLOAD_CANCEL.
    #[xdr(case = OpNumber::OffloadCancel)]
    OffloadCancel(OffloadCancelArgs),
    /// OFFLOAD_STATUS.
    #[xdr(case = OpNumber::OffloadStatus)]
    OffloadStatus(OffloadStatusArgs),
    /// READ_PLUS.
    #[xdr(case = OpNumber::ReadPlus)]
    ReadPlus(ReadPlusArgs),
    /// SEEK.
    #[xdr(case = OpNumber::Seek)]
    Seek(SeekArgs),
    /// WRITE_SAME.
    #[xdr(case = OpNumber::WriteSame)]
    WriteSame(WriteSameArgs<'a>),
    /// CLONE.
    #[xdr(case = OpNumber::Clone)]
    Clone(CloneArgs),
    /// GETXATTR.
    #[xdr(case = OpNumber::Getxattr)]
    Getxattr(GetxattrArgs<'a>),
    /// SETXATTR.
    #[xdr(case = OpNumber::Setxattr)]
    Setxattr(SetxattrArgs<'a>),
    /// LISTXATTRS.
    #[xdr(case = OpNumber::Listxattrs)]
    Listxattrs(ListxattrsArgs),
    /// REMOVEXATTR.
    #[xdr(case = OpNumber::Removexattr)]
    Removexattr(RemovexattrArgs<'a>),
    /// Not an operation.
    #[xdr(case = OP_ILLEGAL)]
    Illegal,
}
