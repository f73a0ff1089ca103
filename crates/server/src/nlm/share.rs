//! SHARE (RFC 1813 appendix II): a share reservation of a DOS client, which replaces the owner's earlier one.

use proto::nlm::{ShareAccess as Does, ShareArgs, ShareMode, Status, Version};
use state::{NlmShareArgs, ShareAccess, ShareDeny};

use super::file::{Purpose, lockable};
use super::lock_request::{host, owner};
use super::refusal::NlmResult;
use crate::node::CallContext;

pub(super) fn share<V: Version>(cx: &CallContext<'_>, args: &ShareArgs<'_>) -> NlmResult {
    let share = &args.share;
    let access = access(share.access);
    let writes = access.is_some_and(ShareAccess::writes);
    let file = lockable(cx, share.file.0, if writes { Purpose::Exclusive } else { Purpose::Shared })?;
    let host = host(cx, share.caller_name)?;
    let wanted = NlmShareArgs {
        host: host.as_bytes(),
        origin: host.origin(),
        owner: &owner::<V>(0, share.owner),
        file,
        access,
        deny: deny(share.mode),
        reclaim: args.reclaim,
    };
    cx.note_if_full(cx.server.state.nlm_share(cx.request.now, &wanted))?;
    Ok(Status::Granted)
}

fn access(access: Does) -> Option<ShareAccess> {
    match access {
        Does::None => None,
        Does::Read => Some(ShareAccess::READ),
        Does::Write => Some(ShareAccess::WRITE),
        Does::Both => Some(ShareAccess::BOTH),
    }
}

fn deny(mode: ShareMode) -> ShareDeny {
    match mode {
        ShareMode::DenyNone => ShareDeny::NONE,
        ShareMode::DenyRead => ShareDeny::READ,
        ShareMode::DenyWrite => ShareDeny::WRITE,
        ShareMode::DenyBoth => ShareDeny::BOTH,
    }
}
