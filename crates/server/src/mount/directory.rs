//! From a path to a directory of an export.

use vfs::{Error, FileKind};

use crate::fault::Fault;
use crate::node::{CallContext, Node};

/// The directory that `path` names, if it is exported to the caller and the caller may go there.
///
/// It may lie below an export. Symbolic links on the way are not followed, since their targets are paths of the client;
/// `..` is refused, since a path that leaves the export by it would mean another directory to the client.
pub(super) fn find<'c>(cx: &'c CallContext<'_>, path: &[u8]) -> Result<Node<'c>, Fault> {
    let (exported, rest) = cx.exports.by_path(path).ok_or(Error::NoEntry)?;
    let mut node = cx.node_of(exported, exported.export.file_system.root())?;
    for name in rest.split(|byte| *byte == b'/') {
        match name {
            b"" | b"." => {}
            b".." => return Err(Error::Invalid.into()),
            _ => node = step(&node, name)?,
        }
    }
    if node.attributes()?.kind == FileKind::Directory { Ok(node) } else { Err(Error::NotDirectory.into()) }
}

fn step<'c>(dir: &Node<'c>, name: &[u8]) -> Result<Node<'c>, Fault> {
    let entry = dir.search(&dir.attributes()?, name)?;
    Ok(dir.sibling(entry.handle))
}
