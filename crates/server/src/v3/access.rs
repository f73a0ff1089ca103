//! ACCESS (RFC 1813 §3.3.4).

use proto::nfs3::{AccessArgs, AccessOk, PostOpAttr};

use super::convert;
use super::reply::Nfs3Result;
use crate::access;
use crate::fault::Fault;
use crate::node::CallContext;

pub(super) fn access(cx: &CallContext<'_>, args: &AccessArgs) -> Nfs3Result<AccessOk, PostOpAttr> {
    let node = cx.node(args.object.as_bytes())?;
    let attributes = node.attributes()?;
    let post_op = || Some(convert::fattr(&node, &attributes));
    let granted = access::granted(&node, &attributes, args.access).map_err(|error| Fault::from(error).with(post_op))?;
    Ok(AccessOk { attributes: post_op(), access: granted })
}
