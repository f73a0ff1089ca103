//! The reasons why a lock procedure fails, and their status in each version.

use proto::nlm::{NetObj, Res, ShareOk, Status, Version};
use state::StateError;
use vfs::Error;

use crate::fault::{Fault, NoResults};
use crate::handle::HandleError;

/// The reason why a lock procedure fails.
#[derive(Debug)]
pub(super) enum Refusal {
    /// It would block on a thread that must not.
    Defer,
    /// The reason that this status of version 4 gives.
    Status(Status),
}

/// The result of a procedure.
pub(super) type NlmResult = Result<Status, Refusal>;

impl From<Fault> for Refusal {
    fn from(fault: Fault) -> Refusal {
        match fault {
            Fault::Defer => Refusal::Defer,
            Fault::File(error) => Refusal::Status(of_file_system(&error)),
            Fault::Handle(HandleError::Malformed | HandleError::Unknown) => Refusal::Status(Status::StaleFh),
            _ => Refusal::Status(Status::Failed),
        }
    }
}

impl From<Error> for Refusal {
    fn from(error: Error) -> Refusal {
        Fault::from(error).into()
    }
}

impl From<StateError> for Refusal {
    fn from(error: StateError) -> Refusal {
        Refusal::Status(of_state(&error))
    }
}

/// The protocol has no status for "later". Clients retry some seconds after a grace-period status, which is about the
/// time that recalling a delegation takes.
const LATER: Status = Status::DeniedGracePeriod;

fn of_file_system(error: &Error) -> Status {
    match error {
        Error::Stale | Error::BadHandle => Status::StaleFh,
        Error::ReadOnly => Status::RoFs,
        Error::Busy | Error::NoLocks => Status::DeniedNoLocks,
        Error::TryLater(_) => LATER,
        _ => Status::Failed,
    }
}

fn of_state(error: &StateError) -> Status {
    match error {
        // A lock that cannot be reclaimed is lost, so waiting is pointless.
        StateError::Denied(_) | StateError::ShareDenied | StateError::NoGrace | StateError::ReclaimBad => {
            Status::Denied
        }
        StateError::Grace => Status::DeniedGracePeriod,
        StateError::Delay | StateError::Unfinished => LATER,
        StateError::Deadlock => Status::Deadlock,
        _ => Status::DeniedNoLocks,
    }
}

/// Maps a status of version 4 to a version that may lack it.
fn in_version<V: Version>(status: Status) -> Status {
    match status {
        Status::RoFs | Status::StaleFh | Status::FBig | Status::Failed if V::NUMBER < 4 => Status::DeniedNoLocks,
        status => status,
    }
}

/// The reply of LOCK, CANCEL and UNLOCK.
pub(super) fn res<V: Version>(cookie: NetObj<'_>, outcome: NlmResult) -> Result<Res<'_>, NoResults> {
    Ok(Res { cookie, status: status::<V>(outcome)? })
}

/// The reply of SHARE and UNSHARE.
pub(super) fn share_res<V: Version>(cookie: NetObj<'_>, outcome: NlmResult) -> Result<ShareOk<'_>, NoResults> {
    Ok(ShareOk { cookie, status: status::<V>(outcome)?, sequence: 0 })
}

/// The status for the result of a procedure.
pub(super) fn status<V: Version>(outcome: NlmResult) -> Result<Status, NoResults> {
    match outcome {
        Ok(status) | Err(Refusal::Status(status)) => Ok(in_version::<V>(status)),
        Err(Refusal::Defer) => Err(NoResults::Defer),
    }
}
