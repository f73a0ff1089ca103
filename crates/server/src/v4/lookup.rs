//! LOOKUP (RFC 7530 §16.13, RFC 8881 §18.13). A directory of the tree above the exports at which an export lies leads into
//! that export.

use proto::nfs4::{LookupArgs, Status};
use vfs::{Access, FileKind};

use super::compound::Compound;
use super::failure::Outcome;
use crate::node::Node;

pub(super) fn lookup(compound: &mut Compound<'_>, args: &LookupArgs<'_>) -> Outcome<()> {
    let dir = compound.current()?;
    require_searchable(&dir)?;
    let name = vfs::Name::new(args.name.0)?;
    let found = dir.fs().lookup(&dir.context, vfs::Place { dir: dir.handle, name })?;
    let (exported, handle) = compound.cx.exports.crossed(dir.exported, found.handle);
    let exported = exported.clone();
    compound.set_current(&exported, handle)
}

/// Refuses unless the caller may look names up here. A symbolic link has a status of its own (RFC 8881 §15.1.2.9).
pub(super) fn require_searchable(dir: &Node<'_>) -> Outcome<()> {
    let attributes = dir.attributes()?;
    match attributes.kind {
        FileKind::Directory => Ok(dir.require(&attributes, Access::EXECUTE)?),
        FileKind::Symlink => Err(Status::Symlink.into()),
        _ => Err(Status::NotDir.into()),
    }
}
