//! LOOKUP (RFC 1813 §3.3.3).

use proto::nfs3::{LookupArgs, LookupOk, PostOpAttr};

use super::{Outcome, convert};
use crate::node::CallContext;

pub(super) fn lookup(cx: &CallContext<'_>, args: &LookupArgs<'_>) -> Outcome<LookupOk, PostOpAttr> {
    let dir = cx.node(args.what.dir.as_bytes())?;
    let dir_attributes = dir.attributes()?;
    let post_op = || Some(convert::fattr(&dir, &dir_attributes));
    let entry = dir.search(&dir_attributes, args.what.name).map_err(|fault| fault.with(post_op))?;
    Ok(LookupOk {
        object: convert::file_handle(&dir.sibling(entry.handle)),
        attributes: Some(convert::fattr(&dir, &entry.attributes)),
        dir_attributes: post_op(),
    })
}
