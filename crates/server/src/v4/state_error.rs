//! The status of NFSv4 for each error of the state manager, and conversions between its types and the wire's.

use proto::nfs4::{self, LockDenied, LockType, MinorVersion, StateOwner, Status};
use state::{Conflict, StateError};
use xdr::{Encode, Encoder};

use super::failure::Failure;

impl From<StateError> for Failure {
    fn from(error: StateError) -> Self {
        match error {
            StateError::Denied(conflict) => denied(&conflict),
            error => Failure::Status(status(&error)),
        }
    }
}

/// The status for `error`.
pub(super) fn status(error: &StateError) -> Status {
    use StateError as E;
    match error {
        E::StaleClientid => Status::StaleClientid,
        E::ClidInUse => Status::ClidInUse,
        E::ClientidBusy => Status::ClientidBusy,
        E::NoEnt => Status::NoEnt,
        E::NotSame => Status::NotSame,
        E::Perm => Status::Perm,
        E::BadSession => Status::BadSession,
        E::ConnNotBoundToSession => Status::ConnNotBoundToSession,
        E::BadSlot => Status::BadSlot,
        E::BadHighSlot => Status::BadHighSlot,
        E::SeqMisordered => Status::SeqMisordered,
        E::SeqFalseRetry => Status::SeqFalseRetry,
        E::RetryUncachedRep => Status::RetryUncachedRep,
        E::TooSmall => Status::TooSmall,
        E::BadStateid => Status::BadStateid,
        E::OldStateid => Status::OldStateid,
        E::StaleStateid => Status::StaleStateid,
        E::Expired => Status::Expired,
        E::AdminRevoked => Status::AdminRevoked,
        E::DelegRevoked => Status::DelegRevoked,
        E::OpenMode => Status::OpenMode,
        E::ShareDenied => Status::ShareDenied,
        E::Locked => Status::Locked,
        E::Denied(_) => Status::Denied,
        E::Deadlock => Status::Deadlock,
        E::LockRange => Status::LockRange,
        E::LockNotsupp => Status::LockNotSupp,
        E::LocksHeld => Status::LocksHeld,
        E::Grace => Status::Grace,
        E::NoGrace => Status::NoGrace,
        E::ReclaimBad => Status::ReclaimBad,
        E::ReclaimConflict => Status::ReclaimConflict,
        E::CompleteAlready => Status::CompleteAlready,
        E::BadSeqid => Status::BadSeqid,
        E::CbPathDown => Status::CbPathDown,
        E::Inval => Status::Inval,
        E::NotSupp => Status::NotSupp,
        E::Delay | E::Unfinished => Status::Delay,
        E::Stale => Status::Stale,
        E::Resource => Status::Resource,
        _ => Status::ServerFault,
    }
}

/// The failure of LOCK or LOCKU. From NFSv4.1 on, no status means that there are no more locks: RFC 8881 §15.2 allows
/// neither RESOURCE, which is of NFSv4.0, nor NOSPC, and after DELAY a client retries forever. So it is SERVERFAULT,
/// which is for errors without a status (§15.1.1.6), and the program gets an error.
pub(super) fn of_lock(error: StateError, minor: MinorVersion) -> Failure {
    match error {
        StateError::Resource if minor.has_sessions() => Status::ServerFault.into(),
        error => error.into(),
    }
}

/// A refused lock reports the conflicting one (RFC 8881 §18.10.2).
fn denied(conflict: &Conflict) -> Failure {
    let lock_type = if conflict.exclusive { LockType::Write } else { LockType::Read };
    let client = nfs4::ClientId(conflict.client.map_or(0, |client| client.0));
    let body = LockDenied {
        offset: conflict.range.first(),
        length: conflict.range.length(),
        lock_type,
        owner: StateOwner { client, owner: &conflict.owner },
    };
    let mut bytes = buffer::Buffer::new();
    body.encode(&mut Encoder::new(&mut bytes));
    Failure::Explained(Status::Denied, bytes.as_slice().to_vec())
}

/// The state manager's form of a stateid.
pub(super) fn inner(stateid: &nfs4::Stateid) -> state::Stateid {
    state::Stateid { seqid: stateid.seqid, other: stateid.other }
}

/// The wire form of a stateid.
pub(super) fn outer(stateid: &state::Stateid) -> nfs4::Stateid {
    nfs4::Stateid { seqid: stateid.seqid, other: stateid.other }
}
