//! NOTIFY (X/Open XNFS): a host announces its restart, which ends the locks that it held.

use proto::nsm::NotifyArgs;

use crate::nlm::free_host;
use crate::node::CallContext;

/// A host repeats its announcement when the reply was lost, and datagrams may be late. The locks it took in between are
/// kept.
pub(super) fn notify(cx: &CallContext<'_>, args: &NotifyArgs<'_>) {
    let address = cx.client().ip();
    if cx.server.restarts.note(address, args.name, args.state, cx.request.now) {
        free_host(cx.server, address, args.name, cx.request.now);
    }
}
