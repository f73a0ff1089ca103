//! LOCK and NM_LOCK (RFC 1813 appendix II).

use proto::nlm::{LockArgs, Status, Version};
use state::{NlmMode, NlmOutcome};

use super::file::{Purpose, lockable};
use super::lock_request::NlmLockRequest;
use super::refusal::{NlmResult, Refusal};
use super::waits::{Wait, WaitId};
use crate::node::CallContext;
use crate::remote::Remote;

/// Locks a range. A client that must wait is later told by a message if `by_message`, else by a call.
pub(super) fn lock<V: Version>(cx: &CallContext<'_>, args: &LockArgs<'_, V::Offset>, by_message: bool) -> NlmResult {
    let purpose = if args.exclusive { Purpose::Exclusive } else { Purpose::Shared };
    let file = lockable(cx, args.lock.file.0, purpose)?;
    let wanted = NlmLockRequest::new::<V>(cx, &args.lock, file, args.exclusive)?;
    if !args.block || args.reclaim {
        let mode = if args.reclaim { NlmMode::Reclaim } else { NlmMode::Now };
        return take(cx, &wanted, mode, None);
    }
    let wait = Wait {
        version: V::NUMBER,
        remote: Remote::of(&cx.request.peer),
        by_message,
        host: wanted.host.clone(),
        owner: wanted.owner.clone(),
        file,
        handle: args.lock.file.0.to_vec(),
        range: wanted.range,
        exclusive: args.exclusive,
    };
    let id = cx.server.waits.add(wait).ok_or(Refusal::Status(Status::DeniedNoLocks))?;
    take(cx, &wanted, NlmMode::Wait(&id.to_bytes()), Some(id))
}

/// Takes the lock, or waits for it as `id`. It replaces the owner's earlier waits in the range.
fn take(cx: &CallContext<'_>, wanted: &NlmLockRequest, mode: NlmMode<'_>, id: Option<WaitId>) -> NlmResult {
    let outcome = cx.note_if_full(cx.server.state.nlm_lock(cx.request.now, &wanted.lock(), mode));
    let kept = id.filter(|_| outcome == Ok(NlmOutcome::Blocked));
    if outcome.is_ok() {
        wanted.end_waits(cx.server, kept);
    } else if let Some(id) = id {
        cx.server.waits.end(id);
    }
    Ok(if outcome? == NlmOutcome::Blocked { Status::Blocked } else { Status::Granted })
}
