//! UMNTALL (RFC 1094 §A.5.5, RFC 1813 §5.2.4).

use crate::node::CallContext;

pub(super) fn umntall(cx: &CallContext<'_>) {
    cx.server.mounts.remove_client(cx.client().ip());
}
