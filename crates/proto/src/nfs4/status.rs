use xdr::{Decode, Encode};

/// The status of an operation in all minor versions (RFC 7530 §13, RFC 8881 §15, RFC 7862 §11, RFC 8276, `nfsstat4`).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Encode, Decode)]
pub enum Status {
    /// Success.
    Ok = 0,
    /// Only the owner may do it.
    Perm = 1,
    /// The name does not exist.
    NoEnt = 2,
    /// The storage failed.
    Io = 5,
    /// There is no such device.
    NxIo = 6,
    /// The permissions do not allow it.
    Access = 13,
    /// The name already exists.
    Exist = 17,
    /// The names are on different file systems.
    XDev = 18,
    /// It is not a directory.
    NotDir = 20,
    /// It is a directory.
    IsDir = 21,
    /// An argument is invalid.
    Inval = 22,
    /// The file would be too large.
    FBig = 27,
    /// The file system is full.
    NoSpc = 28,
    /// The file system is read-only.
    RoFs = 30,
    /// The file has too many names.
    MLink = 31,
    /// The name is too long.
    NameTooLong = 63,
    /// The directory is not empty.
    NotEmpty = 66,
    /// The quota is exceeded.
    DQuot = 69,
    /// The file no longer exists.
    Stale = 70,
    /// The handle is malformed.
    BadHandle = 10001,
    /// The cookie is no longer valid.
    BadCookie = 10003,
    /// The server does not support it.
    NotSupp = 10004,
    /// A size is too small.
    TooSmall = 10005,
    /// The server failed in another way.
    ServerFault = 10006,
    /// The server cannot make this kind of file.
    BadType = 10007,
    /// The server is busy; retry later.
    Delay = 10008,
    /// NVERIFY found the attributes equal.
    Same = 10009,
    /// Another owner's lock conflicts.
    Denied = 10010,
    /// The lease expired and the state was revoked.
    Expired = 10011,
    /// A mandatory lock or a share reservation denies the access.
    Locked = 10012,
    /// The server is in its grace period.
    Grace = 10013,
    /// The volatile handle has expired.
    FhExpired = 10014,
    /// A share reservation conflicts.
    ShareDenied = 10015,
    /// The file requires another security flavour.
    WrongSec = 10016,
    /// Another principal uses this client's name.
    ClidInUse = 10017,
    /// The server lacks resources (4.0 only).
    Resource = 10018,
    /// The file system is at another server.
    Moved = 10019,
    /// There is no current file handle.
    NoFileHandle = 10020,
    /// The server does not support this minor version.
    MinorVersMismatch = 10021,
    /// The client ID is from before a restart, or unknown.
    StaleClientid = 10022,
    /// The stateid is from before a restart.
    StaleStateid = 10023,
    /// The stateid's seqid is not the newest.
    OldStateid = 10024,
    /// The stateid is invalid.
    BadStateid = 10025,
    /// The owner's seqid is out of order (4.0).
    BadSeqid = 10026,
    /// VERIFY found the attributes to differ.
    NotSame = 10027,
    /// The range overlaps locks in a way that the server cannot split.
    LockRange = 10028,
    /// It is a symbolic link.
    Symlink = 10029,
    /// There is no saved file handle.
    RestoreFh = 10030,
    /// Some file system of the lease is at another server.
    LeaseMoved = 10031,
    /// The server does not support the attribute.
    AttrNotSupp = 10032,
    /// The grace period is over.
    NoGrace = 10033,
    /// The client may not reclaim.
    ReclaimBad = 10034,
    /// The reclaim conflicts with a later grant.
    ReclaimConflict = 10035,
    /// The arguments cannot be decoded.
    BadXdr = 10036,
    /// The state still has locks.
    LocksHeld = 10037,
    /// The open does not permit this access.
    OpenMode = 10038,
    /// The owner or group is unknown to the server.
    BadOwner = 10039,
    /// A character is not supported.
    BadChar = 10040,
    /// The name is not supported.
    BadName = 10041,
    /// The server does not support the range.
    BadRange = 10042,
    /// The server cannot upgrade or downgrade the lock at once.
    LockNotSupp = 10043,
    /// There is no such operation.
    OpIllegal = 10044,
    /// Waiting for the lock would be a deadlock.
    Deadlock = 10045,
    /// The file is open.
    FileOpen = 10046,
    /// An administrator revoked the state.
    AdminRevoked = 10047,
    /// The server cannot call the client.
    CbPathDown = 10048,
    /// The layout is not for reading or writing (4.1).
    BadIomode = 10049,
    /// The layout does not cover it.
    BadLayout = 10050,
    /// The digest of SET_SSV is wrong.
    BadSessionDigest = 10051,
    /// There is no such session.
    BadSession = 10052,
    /// The session has no such slot.
    BadSlot = 10053,
    /// RECLAIM_COMPLETE was already sent.
    CompleteAlready = 10054,
    /// The connection is not bound to the session.
    ConnNotBoundToSession = 10055,
    /// The delegation was already requested.
    DelegAlreadyWanted = 10056,
    /// Callbacks are in flight on the session.
    BackChanBusy = 10057,
    /// The layout is not available now.
    LayoutTryLater = 10058,
    /// There is no layout for this file.
    LayoutUnavailable = 10059,
    /// The client has no such layout.
    NoMatchingLayout = 10060,
    /// The requested state is being recalled.
    RecallConflict = 10061,
    /// The server does not know the layout type.
    UnknownLayoutType = 10062,
    /// The slot's sequence ID is out of order.
    SeqMisordered = 10063,
    /// SEQUENCE is not the first operation.
    SequencePos = 10064,
    /// The request is larger than the session allows.
    ReqTooBig = 10065,
    /// The reply would be larger than the session allows.
    RepTooBig = 10066,
    /// The reply would be larger than the session caches.
    RepTooBigToCache = 10067,
    /// The reply to the retransmission was not cached.
    RetryUncachedRep = 10068,
    /// The server cannot replay this COMPOUND.
    UnsafeCompound = 10069,
    /// The request has more operations than the session allows.
    TooManyOps = 10070,
    /// The operation requires SEQUENCE before it.
    OpNotInSession = 10071,
    /// The server does not know any of the hash algorithms.
    HashAlgUnsupp = 10072,
    /// The client still has state.
    ClientidBusy = 10074,
    /// The data server has a hole there.
    PnfsIoHole = 10075,
    /// Another request had the same sequence ID.
    SeqFalseRetry = 10076,
    /// The highest slot id is over the session's.
    BadHighSlot = 10077,
    /// The session is being destroyed.
    DeadSession = 10078,
    /// The server does not know any of the encryption algorithms.
    EncrAlgUnsupp = 10079,
    /// The client has no layout for it.
    PnfsNoLayout = 10080,
    /// The operation must be the only one.
    NotOnlyOp = 10081,
    /// The state is bound to another credential.
    WrongCred = 10082,
    /// It is the wrong kind of file.
    WrongType = 10083,
    /// No delegation is available for the directory.
    DirDelegUnavail = 10084,
    /// The client does not want the delegation.
    RejectDeleg = 10085,
    /// A layout must be returned first.
    ReturnConflict = 10086,
    /// The delegation was revoked.
    DelegRevoked = 10087,
    /// The other server cannot take part in the copy (4.2).
    PartnerNotSupp = 10088,
    /// The other server does not allow the copy.
    PartnerNoAuth = 10089,
    /// The server does not support this arm of the union.
    UnionNotSupp = 10090,
    /// The copy is not allowed.
    OffloadDenied = 10091,
    /// The server does not support the label's format.
    WrongLfs = 10092,
    /// The label is invalid.
    BadLabel = 10093,
    /// The server cannot meet the copy's requirements.
    OffloadNoReqs = 10094,
    /// There is no such extended attribute (RFC 8276).
    NoXattr = 10095,
    /// The extended attribute is too large.
    Xattr2Big = 10096,
}

impl Status {
    /// Whether an operation of NFSv4.0 that ended with this status advances its owner's seqid (RFC 7530 §9.1.7).
    pub const fn uses_seqid(self) -> bool {
        !matches!(
            self,
            Status::StaleClientid
                | Status::StaleStateid
                | Status::BadStateid
                | Status::BadSeqid
                | Status::BadXdr
                | Status::Resource
                | Status::NoFileHandle
                | Status::Moved
        )
    }
}
