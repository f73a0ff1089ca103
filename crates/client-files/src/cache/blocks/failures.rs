//! Errors of late writes, kept until their writers get them.

use std::collections::VecDeque;
use std::sync::{Arc, Weak};

use client_calls::Principal;

use super::late_io::LateIo;
use crate::{Error, Reason};

/// The most users of one file whose errors are kept; beyond that the oldest error goes to the log.
const MAX_USERS: usize = 16;

/// Errors of a file's writes that nobody got yet: the first of each user, and of each open that lost its state at the
/// server.
#[derive(Debug, Default)]
pub(super) struct Failures(VecDeque<Failure>);

#[derive(Debug)]
struct Failure {
    /// The writer, if known.
    user: Option<Arc<Principal>>,
    /// The open that lost its state; the error is for nobody else.
    open: Option<Weak<dyn LateIo>>,
    error: Error,
}

impl Failures {
    /// Keeps an error of data written through `io`, unless an earlier one is kept for the same recipient.
    pub(super) fn note(&mut self, io: Option<&Arc<dyn LateIo>>, error: Error) {
        let open = io.filter(|_| matches!(error.reason(), Reason::StateLost)).map(Arc::downgrade);
        self.keep(Failure { user: io.map(|io| Arc::clone(io.user())), open, error });
    }

    fn keep(&mut self, new: Failure) {
        if self.0.iter().any(|failure| failure.is_like(&new)) {
            return;
        }
        if self.0.len() == MAX_USERS
            && let Some(Failure { error, .. }) = self.0.pop_front()
        {
            tracing::warn!(%error, "a user was not told that what was written is lost");
        }
        self.0.push_back(new);
    }

    /// The error for this open and its user, once. An error without a user is for anyone, and a caller without an open
    /// takes any.
    pub(super) fn take(&mut self, io: Option<&Arc<dyn LateIo>>) -> Option<Error> {
        self.take_if(|failure| io.is_none_or(|io| failure.concerns(io.user(), Arc::as_ptr(io).cast())))
    }

    fn take_if(&mut self, is_theirs: impl Fn(&Failure) -> bool) -> Option<Error> {
        let place = self.0.iter().position(is_theirs)?;
        self.0.remove(place).map(|failure| failure.error)
    }
}

impl Failure {
    fn concerns(&self, user: &Arc<Principal>, open: *const ()) -> bool {
        match &self.open {
            Some(mine) => mine.as_ptr().cast() == open,
            None => self.user.as_ref().is_none_or(|mine| mine == user),
        }
    }

    fn is_like(&self, other: &Failure) -> bool {
        let is_same_open = match (&self.open, &other.open) {
            (Some(one), Some(other)) => std::ptr::addr_eq(one.as_ptr(), other.as_ptr()),
            (one, other) => one.is_none() && other.is_none(),
        };
        is_same_open && self.user == other.user
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Credentials, Reason, Status};

    fn user(uid: u32) -> Arc<Principal> {
        Principal::new(&Credentials::Sys { uid, gid: 0, groups: Vec::new() })
    }

    fn note(failures: &mut Failures, uid: u32, status: Status) {
        let error = Error::new(&"server".into(), "WRITE", Reason::Status(status));
        failures.keep(Failure { user: Some(user(uid)), open: None, error });
    }

    fn take(failures: &mut Failures, uid: u32) -> Option<Status> {
        failures.take_if(|failure| failure.concerns(&user(uid), std::ptr::null())).and_then(|error| error.status())
    }

    #[test]
    fn each_user_is_told_the_first_error_of_their_own_once() {
        let mut failures = Failures::default();
        note(&mut failures, 1, Status::Quota);
        note(&mut failures, 1, Status::NoSpace);
        note(&mut failures, 2, Status::NoSpace);
        assert_eq!(take(&mut failures, 3), None);
        assert_eq!(take(&mut failures, 2), Some(Status::NoSpace));
        assert_eq!(take(&mut failures, 1), Some(Status::Quota));
        assert_eq!(take(&mut failures, 1), None);
    }

    #[test]
    fn errors_of_many_users_take_no_more_than_their_part_of_memory() {
        let mut failures = Failures::default();
        (0..100).for_each(|uid| note(&mut failures, uid, Status::Quota));
        assert_eq!(failures.0.len(), MAX_USERS);
        assert_eq!(take(&mut failures, 99), Some(Status::Quota));
    }
}
