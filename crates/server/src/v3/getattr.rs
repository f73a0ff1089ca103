//! GETATTR (RFC 1813 §3.3.1).

use proto::nfs3::{GetattrArgs, GetattrOk};

use super::convert;
use super::reply::Nfs3Result;
use crate::node::CallContext;

pub(super) fn getattr(cx: &CallContext<'_>, args: &GetattrArgs) -> Nfs3Result<GetattrOk, ()> {
    let node = cx.node(args.object.as_bytes())?;
    let stored = node.attributes()?;
    let attributes = node.attributes_of_holder(&stored)?.unwrap_or(stored);
    Ok(GetattrOk { attributes: convert::fattr(&node, &attributes) })
}
