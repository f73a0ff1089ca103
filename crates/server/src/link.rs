//! Giving a file one more name (all versions of the protocol).

use vfs::{Error, FileKind};

use crate::fault::Fault;
use crate::node::Node;

/// Gives `file` the further name `name` in `dir`.
pub(crate) fn link(file: &Node<'_>, dir: &Node<'_>, name: &[u8]) -> Result<(), Fault> {
    if !file.shares_export(dir) {
        return Err(Error::CrossDevice.into());
    }
    dir.require_changeable_dir()?;
    // A second name for a directory would make a circle (RFC 1813 §3.3.15: INVAL or ISDIR).
    if file.attributes()?.kind == FileKind::Directory {
        return Err(Error::IsDirectory.into());
    }
    let place = dir.place(name)?;
    file.require_undelegated()?;
    match dir.fs().link(&dir.context, &file.handle, place) {
        // The name may have been given by this very call, before the server was killed.
        Err(Error::Exists) if dir.may_have_happened && dir.fs().lookup(&dir.context, place)?.handle == file.handle => {
            Ok(())
        }
        result => Ok(result.map(drop)?),
    }
}
