//! The asynchronous procedures (RFC 1813 appendix II): the server answers a message with a message to the sender's lock
//! manager.

use proto::Operation;

use crate::node::CallContext;
use crate::remote::{Remote, RemoteCallout};

/// Sends the message `O` to the lock manager of the caller. A host without any export gets none, since its address may
/// be forged.
pub(super) fn send<O: Operation>(cx: &CallContext<'_>, args: &O::Arguments<'_>) {
    if !cx.exports.iter().any(|export| export.options_for(cx.client()).is_some()) {
        return;
    }
    let call = RemoteCallout::new::<O>(Remote::of(&cx.request.peer), args);
    cx.server.call_remote(call, cx.request.now, Box::new(|_, _, _| ()));
}
