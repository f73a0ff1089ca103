//! ACCESS of NFSv3 and NFSv4 (RFC 1813 §3.3.4, RFC 8881 §18.1): what the caller may do, in the protocols' bits.

use proto::nfs3::{ACCESS_DELETE, ACCESS_EXECUTE, ACCESS_EXTEND, ACCESS_LOOKUP, ACCESS_MODIFY, ACCESS_READ};
use vfs::{Access, Attributes, FileKind};

use crate::node::Node;

const CHANGES: u32 = ACCESS_MODIFY | ACCESS_EXTEND | ACCESS_DELETE;

/// The ACCESS bits among `asked` that `node` grants the caller.
pub(crate) fn granted(node: &Node<'_>, attributes: &Attributes, asked: u32) -> vfs::Result<u32> {
    let granted = node.fs().access(&node.context, &node.handle, attributes, Access::ALL)?;
    let granted = asked & bits(attributes.kind, granted);
    let is_read_only = granted & CHANGES != 0 && (node.options.read_only || node.fs().is_read_only(&node.context)?);
    Ok(if is_read_only { granted & !CHANGES } else { granted })
}

/// The bits that apply to a kind of file: DELETE only to directories, EXECUTE only to others (RFC 8881 §18.1.3).
pub(crate) fn applicable(kind: FileKind) -> u32 {
    bits(kind, Access::ALL)
}

fn bits(kind: FileKind, granted: Access) -> u32 {
    let read = if granted.contains(Access::READ) { ACCESS_READ } else { 0 };
    if kind == FileKind::Directory {
        let search = if granted.contains(Access::EXECUTE) { ACCESS_LOOKUP } else { 0 };
        // Changing a directory's names requires search permission too.
        let change = if granted.contains(Access::WRITE | Access::EXECUTE) { CHANGES } else { 0 };
        return read | search | change;
    }
    let execute = if granted.contains(Access::EXECUTE) { ACCESS_EXECUTE } else { 0 };
    let write = if granted.contains(Access::WRITE) { ACCESS_MODIFY | ACCESS_EXTEND } else { 0 };
    read | write | execute
}
