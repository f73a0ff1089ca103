//! SETATTR (RFC 1094 §2.2.3).

use proto::nfs2::{Fattr, SetattrArgs};

use super::convert;
use super::reply::Nfs2Result;
use crate::node::CallContext;
use crate::set_attributes;

pub(super) fn setattr(cx: &CallContext<'_>, args: &SetattrArgs) -> Nfs2Result<Fattr> {
    let node = cx.node(&args.file.0)?;
    let _change = node.begin_change()?;
    let set = convert::set_attributes(&args.attributes)?;
    node.require_unreserved_for(&set)?;
    let after = set_attributes::set(&node, &node.attributes()?, &set)?;
    Ok(convert::fattr(&node, &after))
}
