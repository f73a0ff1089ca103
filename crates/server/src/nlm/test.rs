//! TEST (RFC 1813 appendix II): whether a lock would be granted.

use proto::nlm::{Holder, NetObj, Status, TestArgs, TestOk, TestReply, Version};
use state::{Conflict, StateError};

use super::file::{Purpose, lockable};
use super::lock_request::{NlmLockRequest, offset_and_length, owner_parts};
use super::refusal::{Refusal, status};
use crate::fault::NoResults;
use crate::node::CallContext;

/// The result of TEST.
#[derive(Debug)]
pub(super) enum Tested {
    /// This lock conflicts.
    Denied(Box<Conflict>),
    /// No lock conflicts, or the request was refused.
    Other(Status),
}

pub(super) fn test<V: Version>(cx: &CallContext<'_>, args: &TestArgs<'_, V::Offset>) -> Result<Tested, NoResults> {
    match find_conflict::<V>(cx, args) {
        Ok(None) => Ok(Tested::Other(Status::Granted)),
        Ok(Some(conflict)) => Ok(Tested::Denied(conflict)),
        Err(refusal) => Ok(Tested::Other(status::<V>(Err(refusal))?)),
    }
}

fn find_conflict<V: Version>(
    cx: &CallContext<'_>,
    args: &TestArgs<'_, V::Offset>,
) -> Result<Option<Box<Conflict>>, Refusal> {
    let file = lockable(cx, args.lock.file.0, Purpose::Shared)?;
    let wanted = NlmLockRequest::new::<V>(cx, &args.lock, file, args.exclusive)?;
    match cx.server.state.nlm_test(cx.request.now, &wanted.lock()) {
        Ok(()) => Ok(None),
        Err(StateError::Denied(conflict)) => Ok(Some(conflict)),
        Err(error) => Err(error.into()),
    }
}

/// The reply of TEST.
pub(super) fn reply<'a, V: Version>(cookie: NetObj<'a>, tested: &'a Tested) -> TestOk<'a, V::Offset> {
    let reply = match tested {
        Tested::Denied(conflict) => TestReply::Denied(holder::<V>(conflict)),
        Tested::Other(status) => TestReply::Other(*status),
    };
    TestOk { cookie, reply }
}

/// The conflicting lock. Locks of NFSv4 clients and local processes have no process number, so it is 0.
fn holder<V: Version>(conflict: &Conflict) -> Holder<'_, V::Offset> {
    let (svid, owner) = match conflict.client {
        None => owner_parts(&conflict.owner),
        Some(_) => (0, &*conflict.owner),
    };
    let (offset, length) = offset_and_length::<V>(conflict.range);
    Holder { exclusive: conflict.exclusive, svid, owner: NetObj(owner), offset, length }
}
