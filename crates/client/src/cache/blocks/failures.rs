//! Errors of late writes, until those are told who wrote.

use std::collections::VecDeque;
use std::sync::Arc;

use crate::Error;
use crate::credentials::Principal;

/// The most users of one file whose errors are kept; beyond, the oldest one goes to the log.
const MAX_USERS: usize = 16;

/// What went wrong with the writes of a file and nobody was told yet: the first error of each user.
#[derive(Debug, Default)]
pub(super) struct Failures(VecDeque<Failure>);

#[derive(Debug)]
struct Failure {
    /// Who wrote, if that is known.
    user: Option<Arc<Principal>>,
    error: Error,
}

impl Failures {
    /// Keeps an error for this user, unless an earlier one is kept.
    pub(super) fn note(&mut self, user: Option<Arc<Principal>>, error: Error) {
        if self.0.iter().any(|failure| failure.user == user) {
            return;
        }
        if self.0.len() == MAX_USERS
            && let Some(Failure { error, .. }) = self.0.pop_front()
        {
            tracing::warn!(%error, "a user was not told that what was written is lost");
        }
        self.0.push_back(Failure { user, error });
    }

    /// The error that is this user's, once. One of nobody in particular is everybody's, and who is nobody in particular takes any.
    pub(super) fn take(&mut self, user: Option<&Arc<Principal>>) -> Option<Error> {
        let is_theirs = |failure: &Failure| user.is_none() || failure.user.is_none() || failure.user.as_ref() == user;
        let place = self.0.iter().position(is_theirs)?;
        self.0.remove(place).map(|failure| failure.error)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Credentials, Reason, Status};

    fn user(uid: u32) -> Option<Arc<Principal>> {
        Some(Principal::new(&Credentials::Sys { uid, gid: 0, groups: Vec::new() }))
    }

    fn error(status: Status) -> Error {
        Error::new(&"server".into(), "WRITE", Reason::Status(status))
    }

    #[test]
    fn each_user_is_told_the_first_error_of_their_own_once() {
        let mut failures = Failures::default();
        failures.note(user(1), error(Status::Quota));
        failures.note(user(1), error(Status::NoSpace));
        failures.note(user(2), error(Status::NoSpace));
        assert!(failures.take(user(3).as_ref()).is_none());
        assert_eq!(failures.take(user(2).as_ref()).unwrap().status(), Some(Status::NoSpace));
        assert_eq!(failures.take(user(1).as_ref()).unwrap().status(), Some(Status::Quota));
        assert!(failures.take(user(1).as_ref()).is_none());
    }

    #[test]
    fn errors_of_many_users_take_no_more_than_their_part_of_memory() {
        let mut failures = Failures::default();
        (0..100).for_each(|uid| failures.note(user(uid), error(Status::Quota)));
        assert_eq!(failures.0.len(), MAX_USERS);
        assert!(failures.take(user(99).as_ref()).is_some());
    }
}
