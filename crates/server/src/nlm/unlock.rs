//! UNLOCK (RFC 1813 appendix II). What is not locked is unlocked without complaint.

use proto::nlm::{Status, UnlockArgs, Version};

use super::file::locked;
use super::refusal::Outcome;
use super::wanted::Wanted;
use crate::node::CallContext;

pub(super) fn unlock<V: Version>(cx: &CallContext<'_>, args: &UnlockArgs<'_, V::Offset>) -> Outcome {
    let file = locked(cx, args.lock.file.0)?;
    let wanted = Wanted::new::<V>(cx, &args.lock, file, false)?;
    cx.server.state.nlm_unlock(cx.request.now, &wanted.lock())?;
    wanted.end_waits(cx.server, None);
    Ok(Status::Granted)
}
