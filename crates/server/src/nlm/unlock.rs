//! UNLOCK (RFC 1813 appendix II). Unlocking an unlocked range succeeds.

use proto::nlm::{Status, UnlockArgs, Version};

use super::file::locked;
use super::lock_request::NlmLockRequest;
use super::refusal::NlmResult;
use crate::node::CallContext;

pub(super) fn unlock<V: Version>(cx: &CallContext<'_>, args: &UnlockArgs<'_, V::Offset>) -> NlmResult {
    let file = locked(cx, args.lock.file.0)?;
    let wanted = NlmLockRequest::new::<V>(cx, &args.lock, file, false)?;
    let (state, now) = (&cx.server.state, cx.request.now);
    cx.in_steps(|| state.nlm_unlock(now, &wanted.lock()))??;
    wanted.end_waits(cx.server, None);
    Ok(Status::Granted)
}
