//! What an error says about the state of the client at the server.

use proto::nfs4::Status;

use crate::{Error, Reason};

/// Whether the client must make itself known again (RFC 7530 §9.6.2, §9.6.3).
pub(super) fn is_forgotten(error: &Error) -> bool {
    matches!(error.v4_status(), Some(Status::StaleStateid | Status::StaleClientid | Status::Expired))
}

/// Whether the server no longer knows the stateid.
pub(crate) fn is_about_state(error: &Error) -> bool {
    let lost = [
        Status::BadStateid,
        Status::OldStateid,
        Status::StaleStateid,
        Status::Expired,
        Status::AdminRevoked,
        Status::DelegRevoked,
        Status::StaleClientid,
    ];
    error.v4_status().is_some_and(|status| lost.contains(&status))
}

/// Whether the server's answer is unknown: no reply arrived, or the session is lost again.
pub(super) fn decides_nothing(error: &Error) -> bool {
    let no_answer = matches!(error.reason(), Reason::NoReply(_) | Reason::Connect { .. });
    no_answer || is_lost_again(error)
}

/// Whether the session, or the client id of 4.0, is lost.
pub(super) fn is_session_lost(error: &Error) -> bool {
    matches!(error.v4_status(), Some(Status::BadSession | Status::DeadSession | Status::StaleClientid))
}

/// Whether newly recovered state is lost again with its session. 4.0 has a status of its own for state from before a
/// restart (RFC 7530 §9.6.2), which later versions do not use.
pub(super) fn is_lost_again(error: &Error) -> bool {
    is_session_lost(error) || error.v4_status() == Some(Status::StaleStateid)
}

/// Whether the server says that there is nothing to reclaim.
pub(super) fn is_no_reclaim(error: &Error) -> bool {
    matches!(error.v4_status(), Some(Status::NoGrace | Status::ReclaimBad))
}
