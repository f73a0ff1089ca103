//! RMDIR (RFC 1094 §2.2.16).

use proto::nfs2::RmdirArgs;

use super::reply::Nfs2Result;
use crate::node::CallContext;
use crate::unlink;

pub(super) fn rmdir(cx: &CallContext<'_>, args: &RmdirArgs<'_>) -> Nfs2Result<()> {
    let dir = cx.node(&args.object.dir.0)?;
    let _change = dir.begin_change()?;
    unlink::remove_dir(&dir, dir.attributes(), args.object.name)
}
