//! ACCESS (RFC 1813 §3.3.4).

use proto::nfs3::{
    ACCESS_DELETE, ACCESS_EXECUTE, ACCESS_EXTEND, ACCESS_LOOKUP, ACCESS_MODIFY, ACCESS_READ, AccessArgs, AccessOk,
    PostOpAttr,
};
use vfs::{Access, FileKind};

use super::{Outcome, convert};
use crate::fault::Fault;
use crate::node::CallContext;

const CHANGES: u32 = ACCESS_MODIFY | ACCESS_EXTEND | ACCESS_DELETE;

pub(super) fn access(cx: &CallContext<'_>, args: &AccessArgs) -> Outcome<AccessOk, PostOpAttr> {
    let node = cx.node(args.object.as_bytes())?;
    let attributes = node.attributes()?;
    let post_op = || Some(convert::fattr(&node, &attributes));
    let granted = node
        .fs()
        .access(&node.context, &node.handle, &attributes, Access::ALL)
        .map_err(|error| Fault::from(error).with(post_op))?;
    let mut access = args.access & bits(attributes.kind, granted);
    if node.options.read_only {
        access &= !CHANGES;
    }
    Ok(AccessOk { attributes: post_op(), access })
}

/// The bits that the granted ways stand for. What does not apply to a kind of file is not granted (§3.3.4: DELETE only for
/// directories, EXECUTE only for files).
fn bits(kind: FileKind, granted: Access) -> u32 {
    let read = if granted.contains(Access::READ) { ACCESS_READ } else { 0 };
    if kind == FileKind::Directory {
        let search = if granted.contains(Access::EXECUTE) { ACCESS_LOOKUP } else { 0 };
        // Names are changed only by who may also look them up.
        let change = if granted.contains(Access::WRITE | Access::EXECUTE) { CHANGES } else { 0 };
        return read | search | change;
    }
    let execute = if granted.contains(Access::EXECUTE) { ACCESS_EXECUTE } else { 0 };
    let write = if granted.contains(Access::WRITE) { ACCESS_MODIFY | ACCESS_EXTEND } else { 0 };
    read | write | execute
}
