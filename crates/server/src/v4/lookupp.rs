//! LOOKUPP (RFC 7530 §16.14, RFC 8881 §18.14). The parent of an export's root is in the pseudo file system.

use std::sync::Arc;

use proto::nfs4::Status;
use vfs::Handle;

use super::compound::Compound;
use super::failure::OpResult;
use crate::exports::Exported;
use crate::node::{CallContext, Node};

pub(super) fn lookupp(compound: &mut Compound<'_>, (): &()) -> OpResult<()> {
    let dir = compound.current()?;
    super::lookup::require_searchable(&dir, compound.current_attributes()?)?;
    let (exported, handle) = parent(compound.cx, &dir)?;
    compound.set_current(exported, handle)
}

/// The directory above `dir`.
pub(super) fn parent<'c>(cx: &'c CallContext<'_>, dir: &Node<'c>) -> OpResult<(&'c Arc<Exported>, Handle)> {
    let (mut exported, mut handle) = (dir.exported, dir.handle);
    if handle == dir.fs().root() {
        // The root has no parent (RFC 8881 §18.14.3: NOENT).
        (exported, handle) = cx.exports.place_of(exported).ok_or(Status::NoEnt)?;
    }
    let below = cx.node_of(exported, handle)?;
    if handle == below.fs().root() {
        return Err(Status::NoEnt.into());
    }
    let parent = below.fs().parent(&below.context, &below.handle)?;
    Ok(cx.exports.crossed(exported, parent.handle, cx.client()).ok_or(Status::Access)?)
}
