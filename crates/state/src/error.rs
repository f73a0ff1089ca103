//! The errors of requests about state.

use crate::{ByteRange, ClientId, InvalidRange};

/// The lock that conflicts with a request (NFSv4's `LOCK4denied`, NLM's holder).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Conflict {
    /// The range of the held lock.
    pub range: ByteRange,
    /// Whether it is exclusive.
    pub exclusive: bool,
    /// The client that holds it; `None` for the lock protocol and for local processes.
    pub client: Option<ClientId>,
    /// The lock owner's name, empty for local processes.
    pub owner: Box<[u8]>,
}

/// The reason why a request about state is refused: one variant for each status of the protocols.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum StateError {
    /// The client ID is unknown to this boot of the server.
    #[error("the client id is not known")]
    StaleClientid,
    /// The client's ID or owner is in use by another principal.
    #[error("the client owner is in use by another principal")]
    ClidInUse,
    /// The client has sessions or state and cannot be destroyed.
    #[error("the client still has sessions or state")]
    ClientidBusy,
    /// There is no confirmed record to update.
    #[error("no confirmed client record")]
    NoEnt,
    /// The verifier differs from the record's.
    #[error("the verifier differs from the record's")]
    NotSame,
    /// The principal may not change the record.
    #[error("the principal may not change this")]
    Perm,
    /// The session is unknown.
    #[error("the session is not known")]
    BadSession,
    /// The connection is not bound to the session.
    #[error("the connection is not bound to the session")]
    ConnNotBoundToSession,
    /// The session has no such slot.
    #[error("the session has no such slot")]
    BadSlot,
    /// The highest slot in the request is beyond the session's slots.
    #[error("the highest slot is beyond the session's slots")]
    BadHighSlot,
    /// The sequence number is neither the last nor the next one.
    #[error("the sequence number is out of order")]
    SeqMisordered,
    /// The sequence number is the last one, but the request differs.
    #[error("the request differs from the one that used this sequence number")]
    SeqFalseRetry,
    /// The reply to the retransmitted request was not cached.
    #[error("the reply was not cached")]
    RetryUncachedRep,
    /// A channel attribute is too small to work with.
    #[error("a channel attribute is too small")]
    TooSmall,
    /// The stateid refers to no state, or to none that fits the request.
    #[error("the stateid is not valid here")]
    BadStateid,
    /// The stateid is an earlier value of the state.
    #[error("the stateid is an old one")]
    OldStateid,
    /// The stateid is from an earlier boot of the server.
    #[error("the stateid is from before a restart")]
    StaleStateid,
    /// The state is gone because its client's lease ended.
    #[error("the lease has expired")]
    Expired,
    /// An administrator revoked the state.
    #[error("the state was revoked by an administrator")]
    AdminRevoked,
    /// The delegation was revoked because it was not returned in time.
    #[error("the delegation was revoked")]
    DelegRevoked,
    /// The open does not permit this access.
    #[error("the file is not open for this access")]
    OpenMode,
    /// Another open denies this access, or has the access that would be denied.
    #[error("another open's share reservation conflicts")]
    ShareDenied,
    /// A share reservation denies an access without an open.
    #[error("a share reservation denies the access")]
    Locked,
    /// Another owner's lock conflicts.
    #[error("another lock conflicts")]
    Denied(Box<Conflict>),
    /// Waiting for the lock would be a deadlock.
    #[error("waiting would be a deadlock")]
    Deadlock,
    /// The range of the lock cannot be represented.
    #[error("the lock's range cannot be kept")]
    LockRange,
    /// The kind of lock is not supported.
    #[error("the lock is not supported")]
    LockNotsupp,
    /// The owner still holds locks.
    #[error("the owner still holds locks")]
    LocksHeld,
    /// The server is in its grace period, or an NFSv4.1 client has not sent RECLAIM_COMPLETE.
    #[error("the grace period is not over")]
    Grace,
    /// The grace period is over, or over for this client.
    #[error("there is no grace period for this reclaim")]
    NoGrace,
    /// The client has no right to reclaim.
    #[error("the client may not reclaim")]
    ReclaimBad,
    /// The reclaim conflicts with an earlier one.
    #[error("the reclaim conflicts")]
    ReclaimConflict,
    /// RECLAIM_COMPLETE was already sent.
    #[error("reclaiming was completed before")]
    CompleteAlready,
    /// The owner's seqid is neither the last nor the next one (NFSv4.0).
    #[error("the owner's seqid is out of order")]
    BadSeqid,
    /// The client cannot be called back, and holds delegations.
    #[error("the callback path is down")]
    CbPathDown,
    /// An argument is invalid.
    #[error("invalid argument")]
    Inval,
    /// The request is not supported.
    #[error("not supported")]
    NotSupp,
    /// The client should retry later: a recall or the same request is in progress, or a bounded step is not finished.
    #[error("try again later")]
    Delay,
    /// A step of long work is done: the same call makes the next one.
    #[error("the work is not finished")]
    Unfinished,
    /// The file was removed before it could be held.
    #[error("the file was removed")]
    Stale,
    /// A limit is reached.
    #[error("a limit of the server is reached")]
    Resource,
    /// The record that must survive a restart could not be written.
    #[error("the store of client records failed: {0}")]
    Records(#[from] crate::RecordsError),
}

impl From<InvalidRange> for StateError {
    fn from(InvalidRange: InvalidRange) -> StateError {
        StateError::Inval
    }
}
