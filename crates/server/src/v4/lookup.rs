//! LOOKUP (RFC 7530 §16.13, RFC 8881 §18.13). It crosses from the pseudo file system into an export, and from one
//! export into another.

use std::sync::Arc;

use proto::nfs4::{LookupArgs, Status};
use vfs::{Access, FileKind, Handle};

use super::compound::Compound;
use super::failure::OpResult;
use crate::exports::Exported;
use crate::node::{CallContext, Node};

pub(super) fn lookup(compound: &mut Compound<'_>, args: &LookupArgs<'_>) -> OpResult<()> {
    let dir = compound.current()?;
    require_searchable(&dir)?;
    let name = vfs::Name::new(args.name.0)?;
    let (exported, handle) = find(compound.cx, &dir, name)?;
    let exported = exported.clone();
    compound.set_current(&exported, handle)
}

/// The file called `name` in `dir`, in whichever export it is.
pub(super) fn find<'c>(
    cx: &'c CallContext<'_>,
    dir: &Node<'c>,
    name: vfs::Name<'_>,
) -> OpResult<(&'c Arc<Exported>, Handle)> {
    match dir.fs().lookup(&dir.context, vfs::Place { dir: dir.handle, name }) {
        Ok(found) => Ok(cx.exports.crossed(dir.exported, found.handle, cx.client()).ok_or(Status::Access)?),
        Err(vfs::Error::Elsewhere(origin)) => {
            let root = cx.root_at(&origin)?;
            Ok((root.exported, root.handle))
        }
        Err(error) => Err(error.into()),
    }
}

/// Fails unless the caller may search the directory. A symbolic link has its own status (RFC 8881 §15.1.2.9).
pub(super) fn require_searchable(dir: &Node<'_>) -> OpResult<()> {
    let attributes = dir.attributes()?;
    match attributes.kind {
        FileKind::Directory => Ok(dir.require(&attributes, Access::EXECUTE)?),
        FileKind::Symlink => Err(Status::Symlink.into()),
        _ => Err(Status::NotDir.into()),
    }
}
