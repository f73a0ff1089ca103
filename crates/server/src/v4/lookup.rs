//! LOOKUP (RFC 7530 §16.13, RFC 8881 §18.13). It crosses from the pseudo file system into an export, and from one
//! export into another.

use std::sync::Arc;

use proto::nfs4::{LookupArgs, Status};
use vfs::{Access, Attributes, FileKind, Handle};

use super::compound::Compound;
use super::failure::OpResult;
use crate::exports::Exported;
use crate::node::{CallContext, Node};
use crate::refusals::Refusal;

pub(super) fn lookup(compound: &mut Compound<'_>, args: &LookupArgs<'_>) -> OpResult<()> {
    let dir = compound.current()?;
    require_searchable(&dir, compound.current_attributes()?)?;
    let name = vfs::Name::new(args.name.0)?;
    let found = find(compound.cx, &dir, name)?;
    compound.set_current(found.exported, found.handle)?;
    if let Some(attributes) = found.attributes {
        compound.set_attributes(attributes);
    }
    Ok(())
}

/// A file that was looked up.
pub(super) struct FoundFile<'c> {
    exported: &'c Arc<Exported>,
    handle: Handle,
    /// Its attributes, unless it is in another export.
    attributes: Option<Attributes>,
}

/// The file called `name` in `dir`, in whichever export it is.
pub(super) fn find<'c>(cx: &'c CallContext<'_>, dir: &Node<'c>, name: vfs::Name<'_>) -> OpResult<FoundFile<'c>> {
    match dir.fs().lookup(&dir.context, vfs::Place { dir: dir.handle, name }) {
        Ok(found) => {
            let crossed = cx.exports.crossed(dir.exported, found.handle, cx.client());
            let Some((exported, handle)) = crossed else {
                let hidden = cx.exports.mounted_at(&found.handle).map(|hidden| Refusal::NotOffered(&hidden.export));
                cx.note_refusal(&hidden.unwrap_or(Refusal::Stranger));
                return Err(Status::Access.into());
            };
            let attributes = Arc::ptr_eq(exported, dir.exported).then_some(found.attributes);
            Ok(FoundFile { exported, handle, attributes })
        }
        Err(vfs::Error::Elsewhere(origin)) => {
            let root = cx.root_at(&origin)?;
            Ok(FoundFile { exported: root.exported, handle: root.handle, attributes: None })
        }
        Err(error) => Err(error.into()),
    }
}

/// Fails unless the caller may search the directory. A symbolic link has its own status (RFC 8881 §15.1.2.9).
pub(super) fn require_searchable(dir: &Node<'_>, attributes: &Attributes) -> OpResult<()> {
    match attributes.kind {
        FileKind::Directory => Ok(dir.require(attributes, Access::EXECUTE)?),
        FileKind::Symlink => Err(Status::Symlink.into()),
        _ => Err(Status::NotDir.into()),
    }
}
