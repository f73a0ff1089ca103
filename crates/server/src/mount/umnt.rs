//! UMNT (RFC 1094 §A.5.4, RFC 1813 §5.2.3): only the list of mounts changes, and the handle stays valid.

use proto::mount::DirPath;

use crate::node::CallContext;

pub(super) fn umnt(cx: &CallContext<'_>, args: &DirPath<'_>) {
    cx.server.mounts.remove(cx.client().ip(), args.path);
}
