//! MKDIR (RFC 1094 §2.2.15).

use proto::nfs2::{CreateArgs, DirOpOk};
use vfs::NewNode;

use super::convert;
use super::reply::Nfs2Result;
use crate::make;
use crate::node::CallContext;

pub(super) fn mkdir(cx: &CallContext<'_>, args: &CreateArgs<'_>) -> Nfs2Result<DirOpOk> {
    let dir = cx.node(&args.place.dir.0)?;
    let _change = dir.begin_change()?;
    let set = convert::set_attributes(&args.attributes)?;
    let made = make::make(&dir, dir.attributes(), args.place.name, |dir, place| {
        make::node(dir, place, NewNode::Directory, &set)
    })?;
    Ok(convert::dir_op_ok(&dir, &made))
}
