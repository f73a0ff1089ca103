//! FSSTAT (RFC 1813 §3.3.18).

use proto::nfs3::{FsArgs, FsstatOk, PostOpAttr};

use super::convert;
use super::reply::Nfs3Result;
use crate::fault::Fault;
use crate::node::CallContext;

pub(super) fn fsstat(cx: &CallContext<'_>, args: &FsArgs) -> Nfs3Result<FsstatOk, PostOpAttr> {
    let node = cx.node(args.object.as_bytes())?;
    let space = node.fs().space(&node.context, &node.handle);
    let space = space.map_err(|error| Fault::from(error).with(|| convert::post_op(&node)))?;
    Ok(FsstatOk {
        attributes: convert::post_op(&node),
        total_bytes: space.total_bytes,
        free_bytes: space.free_bytes,
        available_bytes: space.available_bytes,
        total_files: space.total_files,
        free_files: space.free_files,
        available_files: space.available_files,
        invariant_seconds: 0,
    })
}
