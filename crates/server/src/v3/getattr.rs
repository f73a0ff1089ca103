//! GETATTR (RFC 1813 §3.3.1).

use proto::nfs3::{GetattrArgs, GetattrOk};

use super::convert;
use super::reply::Nfs3Result;
use crate::node::CallContext;

pub(super) fn getattr(cx: &CallContext<'_>, args: &GetattrArgs) -> Nfs3Result<GetattrOk, ()> {
    let node = cx.node(args.object.as_bytes())?;
    let attributes = node.true_attributes(&node.attributes()?)?;
    Ok(GetattrOk { attributes: convert::fattr(&node, &attributes) })
}
