//! LOOKUP (RFC 1813 §3.3.3).

use proto::nfs3::{LookupArgs, LookupOk, PostOpAttr};

use super::convert;
use super::reply::Nfs3Result;
use crate::node::CallContext;

pub(super) fn lookup(cx: &CallContext<'_>, args: &LookupArgs<'_>) -> Nfs3Result<LookupOk, PostOpAttr> {
    let dir = cx.node(args.what.dir.as_bytes())?;
    let dir_attributes = dir.shared_attributes()?;
    let post_op = || Some(convert::fattr(&dir, &dir_attributes));
    let found = cx.look_up(&dir, &dir_attributes, args.what.name);
    let (file, attributes) = found.map_err(|fault| fault.with(post_op))?;
    Ok(LookupOk {
        object: convert::file_handle(&file),
        attributes: Some(convert::fattr(&file, &attributes)),
        dir_attributes: post_op(),
    })
}
