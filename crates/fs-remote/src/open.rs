//! Opens files by their handles.

use std::sync::Arc;

use client_files::{File, OpenOptions, Version};
use proto::nfs4::MinorVersion;
use vfs::{Attributes, Context, Error, FileKind, Handle, OpenMode, Result};

use super::handles::{Known, NameIn, Number};
use super::remote_file::{HiddenName, RemoteFile};
use super::shared::Shared;
use super::status;

/// Opens a regular file, or shares one that is open already.
pub(super) fn open(shared: &Arc<Shared>, cx: &Context<'_>, node: &Handle, mode: OpenMode) -> Result<Arc<RemoteFile>> {
    let (known, _opening) = Opening::begin(shared, node)?;
    match known.kind {
        FileKind::Regular => {}
        FileKind::Directory => return Err(Error::IsDirectory),
        _ => return Err(Error::WrongKind),
    }
    let mount = shared.mount_for(cx);
    if let Some(file) = shared.opens.take_new(known.number, mount.principal()) {
        // The reply to its creation replaces that to an open, as long as its attributes are valid.
        require_name(shared, &known, shared.wait(cx, mount.attributes(&known.handle))?)?;
        return Ok(file);
    }
    if let Some(file) = shared.opens.get(known.number, mount.principal(), mode) {
        // Close-to-open consistency: reads see what others wrote before they closed the file.
        require_name(shared, &known, shared.wait(cx, mount.attributes_at_open(&known.handle))?)?;
        file.look_again();
        return Ok(file);
    }
    let file = open_at_server(shared, cx, &known, mode)?;
    let attributes = *file.attributes();
    let file = RemoteFile::new(shared, known, mode, file);
    require_name(shared, &known, attributes)?;
    shared.opens.insert(&file);
    Ok(file)
}

/// Refuses a file whose last name others removed, though the server still reaches it: its name may be another file's
/// now, and an opener by name walks again. Held files are opened by their handles.
fn require_name(shared: &Shared, known: &Known, attributes: Attributes) -> Result<()> {
    if attributes.links > 0 || shared.opens.is_held(known.number) {
        return Ok(());
    }
    shared.mount.outdate_removed(&known.handle);
    Err(Error::Stale)
}

/// A file that is being opened. It counts as open, so that removing its name leaves it usable.
pub(super) struct Opening<'s> {
    shared: &'s Arc<Shared>,
    number: Number,
}

impl Opening<'_> {
    /// Waits for a removal of the file's last name that began before: then the file is stale.
    pub(super) fn begin<'s>(shared: &'s Arc<Shared>, node: &Handle) -> Result<(Known, Opening<'s>)> {
        let number = shared.handles.find(node)?.number;
        shared.opens.begin(number);
        let opening = Opening { shared, number };
        Ok((shared.handles.find(node)?, opening))
    }
}

impl Drop for Opening<'_> {
    fn drop(&mut self) {
        if let Some(hidden) = HiddenName::at_close(self.shared, self.number) {
            self.shared.run(hidden.remove());
        }
    }
}

/// Opens a file at the server without sharing it. A user who may write but not read opens it for writing.
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
        && let Some(file) = open_by_name(shared, cx, known, &name, &options)?
    {
        return Ok(file);
    }
    shared.wait(cx, shared.mount_for(cx).open_handle(&known.handle, &options))
}

/// Opens by the name that last led to the file, because NFSv4.0 requires a name. `None` if the name is another file's
/// now, or gone: then the file is used without open state.
fn open_by_name(
    shared: &Shared,
    cx: &Context<'_>,
    known: &Known,
    at: &NameIn,
    options: &OpenOptions,
) -> Result<Option<File>> {
    match shared.wait_for(cx, shared.mount_for(cx).open(&at.dir, &at.name, options))? {
        Ok(file) if *file.handle() == known.handle => Ok(Some(file)),
        Ok(other) => {
            // The wrong file was opened. An error of its close does not matter.
            let _ = shared.wait(cx, other.close());
            Ok(None)
        }
        Err(error) => match status::neutral(error) {
            Error::NoEntry | Error::Stale | Error::IsDirectory | Error::WrongKind | Error::NotDirectory => Ok(None),
            error => Err(error),
        },
    }
}
