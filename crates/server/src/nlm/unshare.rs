//! UNSHARE (RFC 1813 appendix II). Releasing a reservation that does not exist succeeds.

use proto::nlm::{ShareArgs, Status, Version};

use super::file::locked;
use super::lock_request::{host, owner};
use super::refusal::NlmResult;
use crate::node::CallContext;

pub(super) fn unshare<V: Version>(cx: &CallContext<'_>, args: &ShareArgs<'_>) -> NlmResult {
    let file = locked(cx, args.share.file.0)?;
    let host = host(cx, args.share.caller_name)?;
    cx.server.state.nlm_unshare(host.as_bytes(), &owner::<V>(0, args.share.owner), &file);
    Ok(Status::Granted)
}
