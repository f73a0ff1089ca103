//! LOOKUP (RFC 1094 §2.2.5).

use proto::nfs2::{DirOpOk, LookupArgs};
use vfs::Entry;

use super::convert;
use super::reply::Nfs2Result;
use crate::node::CallContext;

pub(super) fn lookup(cx: &CallContext<'_>, args: &LookupArgs<'_>) -> Nfs2Result<DirOpOk> {
    let dir = cx.node(&args.what.dir.0)?;
    let (file, attributes) = cx.look_up(&dir, &dir.shared_attributes()?, args.what.name)?;
    Ok(convert::dir_op_ok(&file, &Entry { handle: file.handle, attributes }))
}
