//! REMOVE (RFC 1094 §2.2.11).

use proto::nfs2::RemoveArgs;

use super::reply::Nfs2Result;
use crate::node::CallContext;
use crate::unlink;

pub(super) fn remove(cx: &CallContext<'_>, args: &RemoveArgs<'_>) -> Nfs2Result<()> {
    let dir = cx.node(&args.object.dir.0)?;
    let _change = dir.begin_change()?;
    unlink::remove(&dir, dir.attributes(), args.object.name)
}
