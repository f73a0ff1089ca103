//! Why a request about state is refused.

use crate::{ByteRange, ClientId};

/// Who holds the lock that stands in the way (NFSv4's `LOCK4denied`, the lock protocol's holder).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Conflict {
    /// The range of the lock that is held.
    pub range: ByteRange,
    /// Whether it is an exclusive lock.
    pub exclusive: bool,
    /// The client that holds it; none for the lock protocol and for processes of the server's host.
    pub client: Option<ClientId>,
    /// The lock owner's name, empty for processes of the server's host.
    pub owner: Box<[u8]>,
}

/// Why a request about state is refused: one variant for each status that the protocols tell apart.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum StateError {
    /// The client id is not known to this boot of the server.
    #[error("the client id is not known")]
    StaleClientid,
    /// The client's id or owner is in use by another principal.
    #[error("the client owner is in use by another principal")]
    ClidInUse,
    /// The client has sessions or state and cannot be destroyed.
    #[error("the client still has sessions or state")]
    ClientidBusy,
    /// There is no confirmed record to update.
    #[error("no confirmed client record")]
    NoEnt,
    /// The verifier is not the one of the record.
    #[error("the verifier differs from the record's")]
    NotSame,
    /// The principal may not change the record.
    #[error("the principal may not change this")]
    Perm,
    /// The session is not known.
    #[error("the session is not known")]
    BadSession,
    /// The connection is not bound to the session.
    #[error("the connection is not bound to the session")]
    ConnNotBoundToSession,
    /// The session has no such slot.
    #[error("the session has no such slot")]
    BadSlot,
    /// The highest slot that the request names is beyond the session's slots.
    #[error("the highest slot is beyond the session's slots")]
    BadHighSlot,
    /// The sequence number is neither the last nor the next one.
    #[error("the sequence number is out of order")]
    SeqMisordered,
    /// The sequence number is the last one, but the request is another.
    #[error("the request differs from the one that used this sequence number")]
    SeqFalseRetry,
    /// The reply of the request that is repeated was not kept.
    #[error("the reply was not cached")]
    RetryUncachedRep,
    /// A channel attribute is too small to work with.
    #[error("a channel attribute is too small")]
    TooSmall,
    /// The stateid names no state, or none that fits the request.
    #[error("the stateid is not valid here")]
    BadStateid,
    /// The stateid is an earlier value of the state.
    #[error("the stateid is an old one")]
    OldStateid,
    /// The stateid was given out by an earlier boot of the server.
    #[error("the stateid is from before a restart")]
    StaleStateid,
    /// The state is gone because its client's lease ended.
    #[error("the lease has expired")]
    Expired,
    /// The state was revoked by an administrator.
    #[error("the state was revoked by an administrator")]
    AdminRevoked,
    /// The delegation was revoked because it was not returned in time.
    #[error("the delegation was revoked")]
    DelegRevoked,
    /// The open was not made for this access.
    #[error("the file is not open for this access")]
    OpenMode,
    /// An open by another denies this access, or has the access that would be denied.
    #[error("another open's share reservation conflicts")]
    ShareDenied,
    /// An access without an open meets a share reservation.
    #[error("a share reservation denies the access")]
    Locked,
    /// Another owner's lock stands in the way.
    #[error("another lock conflicts")]
    Denied(Box<Conflict>),
    /// Waiting for the lock would never end.
    #[error("waiting would be a deadlock")]
    Deadlock,
    /// The range fits no lock that can be kept.
    #[error("the lock's range cannot be kept")]
    LockRange,
    /// The kind of lock is not offered.
    #[error("the lock is not supported")]
    LockNotsupp,
    /// The owner still holds locks.
    #[error("the owner still holds locks")]
    LocksHeld,
    /// The server is in its grace period, or the client has not ended its own.
    #[error("the grace period is not over")]
    Grace,
    /// The grace period is over, or over for this client.
    #[error("there is no grace period for this reclaim")]
    NoGrace,
    /// The client has no right to reclaim.
    #[error("the client may not reclaim")]
    ReclaimBad,
    /// What is reclaimed conflicts with what was reclaimed before.
    #[error("the reclaim conflicts")]
    ReclaimConflict,
    /// RECLAIM_COMPLETE was sent before.
    #[error("reclaiming was completed before")]
    CompleteAlready,
    /// The owner's seqid is neither the last nor the next one (NFSv4.0).
    #[error("the owner's seqid is out of order")]
    BadSeqid,
    /// The client cannot be called back, and holds delegations.
    #[error("the callback path is down")]
    CbPathDown,
    /// An argument makes no sense.
    #[error("invalid argument")]
    Inval,
    /// Not offered.
    #[error("not supported")]
    NotSupp,
    /// Try again later: a recall or the same request is in progress, or a bounded step is not finished.
    #[error("try again later")]
    Delay,
    /// A limit is reached.
    #[error("a limit of the server is reached")]
    Resource,
    /// The record that must survive a restart could not be written.
    #[error("the store of client records failed: {0}")]
    Records(#[from] crate::RecordsError),
}
