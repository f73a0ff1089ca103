//! LINK (RFC 1094 §2.2.13).

use proto::nfs2::LinkArgs;

use super::Outcome;
use crate::link;
use crate::node::CallContext;

pub(super) fn link(cx: &CallContext<'_>, args: &LinkArgs<'_>) -> Outcome<()> {
    let (file, dir) = (cx.node(&args.file.0)?, cx.node(&args.link.dir.0)?);
    link::link(&file, &dir, args.link.name)
}
