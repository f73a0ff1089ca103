//! The asynchronous procedures (RFC 1813 appendix II): what answers a message is a message of our own to the sender's lock manager.

use proto::Operation;

use crate::node::CallContext;
use crate::remote::{Remote, RemoteCall};

/// Sends the message `O` to the lock manager of the host that calls. A host that no export is for is not called: its address may be a
/// false one.
pub(super) fn send<O: Operation>(cx: &CallContext<'_>, args: &O::Arguments<'_>) {
    if !cx.exports.iter().any(|export| export.options_for(cx.client()).is_some()) {
        return;
    }
    let call = RemoteCall::new::<O>(Remote::of(&cx.request.peer), args);
    cx.server.call_remote(call, cx.request.now, Box::new(|_, _, _| ()));
}
