//! UMNT (RFC 1094 §A.5.4, RFC 1813 §5.2.3): the handle stays good, only the list of mounts changes.

use proto::mount::DirPath;

use crate::node::CallContext;

pub(super) fn umnt(cx: &CallContext<'_>, args: &DirPath<'_>) {
    cx.server.mounts.remove(cx.client().ip(), args.path);
}
