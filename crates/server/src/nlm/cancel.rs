//! CANCEL (RFC 1813 appendix II): a client gives up waiting for a lock.

use proto::nlm::{CancelArgs, Status, Version};

use super::file::locked;
use super::lock_request::NlmLockRequest;
use super::refusal::NlmResult;
use crate::node::CallContext;

/// Ends a wait. If the lock was granted meanwhile and the client has not confirmed it, it is released.
pub(super) fn cancel<V: Version>(cx: &CallContext<'_>, args: &CancelArgs<'_, V::Offset>) -> NlmResult {
    let file = locked(cx, args.lock.file.0)?;
    let wanted = NlmLockRequest::new::<V>(cx, &args.lock, file, args.exclusive)?;
    let waited = cx.server.state.nlm_cancel(&wanted.lock());
    let ended = wanted.end_waits(cx.server, None);
    if ended && !waited {
        cx.server.state.nlm_give_back(cx.request.now, &wanted.lock());
    }
    Ok(if ended || waited { Status::Granted } else { Status::Denied })
}
