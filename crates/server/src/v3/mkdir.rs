//! MKDIR (RFC 1813 §3.3.9).

use proto::nfs3::{CreateOk, MkdirArgs, WccData};
use vfs::NewNode;

use super::convert;
use super::make::make;
use super::reply::Nfs3Result;
use crate::make;
use crate::node::CallContext;

pub(super) fn mkdir(cx: &CallContext<'_>, args: &MkdirArgs<'_>) -> Nfs3Result<CreateOk, WccData> {
    make(cx, &args.place, |dir, place| {
        make::node(dir, place, NewNode::Directory, &convert::set_attributes(&args.attributes)?)
    })
}
