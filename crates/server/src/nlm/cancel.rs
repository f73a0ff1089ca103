//! CANCEL (RFC 1813 appendix II): a client waits for a lock no longer.

use proto::nlm::{CancelArgs, Status, Version};

use super::file::locked;
use super::refusal::Outcome;
use super::wanted::Wanted;
use crate::node::CallContext;

pub(super) fn cancel<V: Version>(cx: &CallContext<'_>, args: &CancelArgs<'_, V::Offset>) -> Outcome {
    let file = locked(cx, args.lock.file.0)?;
    let wanted = Wanted::new::<V>(cx, &args.lock, file, args.exclusive)?;
    let cancelled = cx.server.state.nlm_cancel(&wanted.lock());
    Ok(if cancelled { Status::Granted } else { Status::Denied })
}
