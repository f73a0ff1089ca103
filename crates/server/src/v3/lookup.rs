//! LOOKUP (RFC 1813 §3.3.3).

use proto::nfs3::{LookupArgs, LookupOk, PostOpAttr};
use vfs::{Access, Attributes, Entry, FileKind};

use super::{Outcome, convert};
use crate::fault::Fault;
use crate::node::{CallContext, Node};

pub(super) fn lookup(cx: &CallContext<'_>, args: &LookupArgs<'_>) -> Outcome<LookupOk, PostOpAttr> {
    let dir = cx.node(args.what.dir.as_bytes())?;
    let dir_attributes = dir.attributes()?;
    let post_op = || Some(convert::fattr(&dir, &dir_attributes));
    let entry = find(&dir, &dir_attributes, args.what.name).map_err(|fault| fault.with(post_op))?;
    Ok(LookupOk {
        object: convert::file_handle(&dir.sibling(entry.handle)),
        attributes: Some(convert::fattr(&dir, &entry.attributes)),
        dir_attributes: post_op(),
    })
}

fn find(dir: &Node<'_>, attributes: &Attributes, name: &[u8]) -> Result<Entry, Fault> {
    if attributes.kind != FileKind::Directory {
        return Err(vfs::Error::NotDirectory.into());
    }
    dir.require(attributes, Access::EXECUTE)?;
    dir.lookup(name)
}
