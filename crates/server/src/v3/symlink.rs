//! SYMLINK (RFC 1813 §3.3.10).

use proto::nfs3::{CreateOk, SymlinkArgs, WccData};
use vfs::NewNode;

use super::convert;
use super::make::make;
use super::reply::Nfs3Result;
use crate::make;
use crate::node::CallContext;

pub(super) fn symlink(cx: &CallContext<'_>, args: &SymlinkArgs<'_>) -> Nfs3Result<CreateOk, WccData> {
    make(cx, &args.place, |dir, place| {
        make::node(dir, place, NewNode::Symlink(args.target), &convert::set_attributes(&args.attributes)?)
    })
}
