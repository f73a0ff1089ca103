//! Hard links (all protocol versions).

use vfs::{Attributes, Error, FileKind};

use crate::fault::Fault;
use crate::name_lock::{NameLockResult, NameOp};
use crate::node::Node;

/// Adds the link `name` in `dir` to `file`.
pub(crate) fn link(
    file: &Node<'_>,
    dir: &Node<'_>,
    dir_attributes: vfs::Result<Attributes>,
    name: &[u8],
) -> Result<(), Fault> {
    if !file.shares_export(dir) {
        return Err(Error::CrossDevice.into());
    }
    dir.require_changeable(dir_attributes)?;
    // A second name for a directory would form a cycle (RFC 1813 §3.3.15: INVAL or ISDIR).
    if file.attributes()?.kind == FileKind::Directory {
        return Err(Error::IsDirectory.into());
    }
    let place = dir.place(name)?;
    file.require_undelegated()?;
    let change = NameOp::Link(place);
    let NameLockResult::Locked(mut lock) = dir.lock_names(&change)? else { return Ok(()) };
    if lock.is_noted() && dir.existing(place)?.is_some() {
        return Err(Error::Exists.into());
    }
    dir.note_link(&mut lock, &change, &file.handle);
    dir.fs().link(&lock.context(&dir.context), &file.handle, place)?;
    Ok(())
}
