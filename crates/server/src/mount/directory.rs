//! Resolves a path to a directory of an export.

use vfs::{Error, FileKind};

use crate::fault::Fault;
use crate::node::{CallContext, Node};

/// The directory at `path`, if it is exported to the caller and the caller may reach it.
///
/// The directory may be below an export. Where another export begins on the path, its rules apply from there on.
/// Symbolic links are not followed, since their targets are paths of the client. `..` is refused: leaving the export by
/// it would mean another directory to the client.
pub(super) fn find<'c>(cx: &'c CallContext<'_>, path: &[u8]) -> Result<Node<'c>, Fault> {
    let path = plain(path)?;
    let (exported, rest) = cx.exports.by_path(&path).ok_or(Error::NoEntry)?;
    let mut node = cx.node_of(exported, exported.export.file_system.root())?;
    for name in rest.split(|byte| *byte == b'/').filter(|name| !name.is_empty()) {
        node = cx.look_up(&node, &node.attributes()?, name)?.0;
    }
    if node.attributes()?.kind == FileKind::Directory { Ok(node) } else { Err(Error::NotDirectory.into()) }
}

/// The path without empty names and `.`, for comparison with the exports' names.
fn plain(path: &[u8]) -> Result<Vec<u8>, Fault> {
    if !path.is_empty() && !path.starts_with(b"/") {
        return Err(Error::NoEntry.into());
    }
    let mut plain = Vec::with_capacity(path.len());
    for name in path.split(|byte| *byte == b'/') {
        match name {
            b".." => return Err(Error::Invalid.into()),
            b"" | b"." => {}
            name => {
                plain.push(b'/');
                plain.extend_from_slice(name);
            }
        }
    }
    Ok(plain)
}
