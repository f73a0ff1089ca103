//! Opening files by their handles.

use std::sync::Arc;

use proto::nfs4::MinorVersion;
use vfs::{Context, Error, FileKind, Handle, OpenMode, Result};

use super::handles::{Known, NameIn};
use super::open_file::RemoteFile;
use super::{Shared, status};
use crate::{File, OpenOptions, Version};

/// Opens a regular file, or takes it where it is open already.
pub(super) fn open(shared: &Arc<Shared>, cx: &Context<'_>, node: &Handle, mode: OpenMode) -> Result<Arc<RemoteFile>> {
    let known = shared.handles.find(node)?;
    match known.kind {
        FileKind::Regular => {}
        FileKind::Directory => return Err(Error::IsDirectory),
        _ => return Err(Error::WrongKind),
    }
    let mount = shared.mount_for(cx);
    if let Some(file) = shared.opens.take_new(known.number, mount.principal()) {
        // The reply that tells of its making is as good as one to its opening, while it is believed.
        shared.wait(cx, mount.attributes(&known.handle))?;
        return Ok(file);
    }
    if let Some(file) = shared.opens.get(known.number, mount.principal(), mode) {
        // What others wrote before they closed it is seen from here on (close-to-open consistency).
        shared.wait(cx, mount.attributes_at_open(&known.handle))?;
        file.look_again();
        return Ok(file);
    }
    let file = open_at_server(shared, cx, &known, mode)?;
    let file = RemoteFile::new(shared, known, (mode, file));
    shared.opens.insert(&file);
    Ok(file)
}

/// Opens a file at the server, for nobody else to share. Who may write it and not read it opens it for that.
pub(super) fn open_at_server(shared: &Shared, cx: &Context<'_>, known: &Known, mode: OpenMode) -> Result<File> {
    match mode {
        OpenMode::Read => open_for(shared, cx, known, OpenOptions::read()),
        OpenMode::Write => match open_for(shared, cx, known, OpenOptions::both()) {
            Err(Error::AccessDenied) => open_for(shared, cx, known, OpenOptions::write()),
            other => other,
        },
    }
}

fn open_for(shared: &Shared, cx: &Context<'_>, known: &Known, options: OpenOptions) -> Result<File> {
    if shared.mount.version() == Version::V4(MinorVersion::V0)
        && let Some(name) = shared.handles.name(known.number)
        && let Some(file) = open_by_name(shared, cx, (known, &name), &options)?
    {
        return Ok(file);
    }
    shared.wait(cx, shared.mount_for(cx).open_handle(&known.handle, &options))
}

/// Opens by the name that the file was met by last, as 4.0 wants it. `None` when the name is another file's now, or nobody's:
/// then the file is used without being open.
fn open_by_name(
    shared: &Shared,
    cx: &Context<'_>,
    (known, at): (&Known, &NameIn),
    options: &OpenOptions,
) -> Result<Option<File>> {
    match shared.wait_for(cx, shared.mount_for(cx).open(&at.dir, &at.name, options))? {
        Ok(file) if *file.handle() == known.handle => Ok(Some(file)),
        Ok(other) => {
            // What was opened by mistake is closed; that this fails harms nobody.
            let _ = shared.wait(cx, other.close());
            Ok(None)
        }
        Err(error) => match status::neutral(error) {
            Error::NoEntry | Error::Stale | Error::IsDirectory | Error::WrongKind | Error::NotDirectory => Ok(None),
            error => Err(error),
        },
    }
}
