//! LINK (RFC 1094 §2.2.13).

use proto::nfs2::LinkArgs;

use super::reply::Nfs2Result;
use crate::link;
use crate::node::CallContext;

pub(super) fn link(cx: &CallContext<'_>, args: &LinkArgs<'_>) -> Nfs2Result<()> {
    let (file, dir) = (cx.node(&args.file.0)?, cx.node(&args.link.dir.0)?);
    let _change = dir.begin_change()?;
    link::link(&file, &dir, dir.attributes(), args.link.name)
}
