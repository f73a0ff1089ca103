//! PATHCONF (RFC 1813 §3.3.20).

use proto::nfs3::{FsArgs, PathconfOk, PostOpAttr};

use super::convert;
use super::reply::Nfs3Result;
use crate::node::CallContext;

pub(super) fn pathconf(cx: &CallContext<'_>, args: &FsArgs) -> Nfs3Result<PathconfOk, PostOpAttr> {
    let node = cx.node(args.object.as_bytes())?;
    let properties = node.fs().properties();
    Ok(PathconfOk {
        attributes: Some(convert::fattr(&node, &node.attributes()?)),
        max_links: properties.max_links,
        max_name_bytes: properties.max_name_bytes,
        no_truncation: true,
        chown_restricted: true,
        case_insensitive: properties.case_insensitive,
        case_preserving: properties.case_preserving,
    })
}
