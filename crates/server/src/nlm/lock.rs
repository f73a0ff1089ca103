//! LOCK and NM_LOCK (RFC 1813 appendix II).

use proto::nlm::{LockArgs, Status, Version};
use state::NlmMode;

use super::file::{Purpose, lockable};
use super::refusal::Outcome;
use super::wanted::Wanted;
use crate::node::CallContext;

pub(super) fn lock<V: Version>(cx: &CallContext<'_>, args: &LockArgs<'_, V::Offset>) -> Outcome {
    let purpose = if args.exclusive { Purpose::Exclusive } else { Purpose::Shared };
    let file = lockable(cx, args.lock.file.0, purpose)?;
    let wanted = Wanted::new::<V>(cx, &args.lock, file, args.exclusive)?;
    let mode = if args.reclaim { NlmMode::Reclaim } else { NlmMode::Now };
    cx.server.state.nlm_lock(cx.request.now, &wanted.lock(), mode)?;
    Ok(Status::Granted)
}
