//! GETATTR (RFC 1094 §2.2.2).

use proto::nfs2::{Fattr, GetattrArgs};

use super::convert;
use super::reply::Nfs2Result;
use crate::node::CallContext;

pub(super) fn getattr(cx: &CallContext<'_>, args: &GetattrArgs) -> Nfs2Result<Fattr> {
    let node = cx.node(&args.file.0)?;
    let stored = node.attributes()?;
    let attributes = node.attributes_of_holder(&stored)?.unwrap_or(stored);
    Ok(convert::fattr(&node, &attributes))
}
