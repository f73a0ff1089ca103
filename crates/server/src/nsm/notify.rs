//! NOTIFY (X/Open XNFS): a host says that it restarted. What it held before, nobody holds.

use proto::nsm::NotifyArgs;

use crate::nlm::free_host;
use crate::node::CallContext;

pub(super) fn notify(cx: &CallContext<'_>, args: &NotifyArgs<'_>) {
    free_host(cx.server, cx.client().ip(), args.name, cx.request.now);
}
