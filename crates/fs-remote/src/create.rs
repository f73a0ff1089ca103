//! Operations that make names.

use std::sync::Arc;

use client_files::{File, OpenOptions, SpecialFile, Status, Version};
use vfs::{Attributes, Context, CreateMode, Entry, Handle, NewNode, OpenMode, Place, Result, SetAttributes};

use super::handles::{NameAt, NameIn};
use super::remote_file::RemoteFile;
use super::shared::Shared;
use super::{attributes, status};

/// Makes a regular file.
pub(super) fn create(
    shared: &Arc<Shared>,
    cx: &Context<'_>,
    place: Place<'_>,
    mode: CreateMode,
    set: &SetAttributes,
) -> Result<Entry> {
    let dir = shared.handles.find_dir(&place.dir)?;
    let (name, mode) = (place.name.as_bytes(), possible(shared.mount.version(), mode));
    let at = NameAt { dir: &dir, name };
    // A rename that found no file of this name must not replace the new one, which is open.
    let _name = shared.name_locks.lock(&[at]);
    if let Some(entry) = create_open(shared, cx, at, mode, set)? {
        return Ok(entry);
    }
    let made = shared.wait(cx, shared.mount_for(cx).create(&dir.handle, name, mode, set))?;
    shared.entry(cx, shared.handles.now(), &made, Some(NameIn::new(dir.handle, name)))
}

/// NFSv2 has no exclusive creation; a guarded one is the nearest.
fn possible(version: Version, mode: CreateMode) -> CreateMode {
    match mode {
        CreateMode::Exclusive(_) if version == Version::V2 => CreateMode::Guarded,
        mode => mode,
    }
}

/// Makes a file and keeps it open for the next open. If the mode forbids its owner to write, only this open can write
/// it; and the open needs no further call. `None` if it existed and may not be opened for everything.
fn create_open(
    shared: &Arc<Shared>,
    cx: &Context<'_>,
    at: NameAt<'_>,
    mode: CreateMode,
    set: &SetAttributes,
) -> Result<Option<Entry>> {
    let options = OpenOptions::both().creating(mode, *set);
    let file: File = match shared.wait_for(cx, shared.mount_for(cx).open(&at.dir.handle, at.name, &options))? {
        Ok(file) => file,
        Err(error) if error.status() == Some(Status::AccessDenied) => return Ok(None),
        Err(error) => return Err(status::neutral(error)),
    };
    let attributes = match set.size_bytes {
        // OPEN truncates an existing file to 0 or leaves its length (RFC 7530 §16.16.5).
        Some(size) if size != file.attributes().size_bytes => {
            let size = SetAttributes { size_bytes: Some(size), ..SetAttributes::default() };
            shared.wait(cx, file.setattr(&size))?
        }
        _ => *file.attributes(),
    };
    let made = client_files::Entry { handle: *file.handle(), attributes };
    let known = shared.handles.meet(&made, Some(at.to_owned()))?;
    let file = RemoteFile::new(shared, known, OpenMode::Write, file);
    shared.opens.keep_new(file);
    Ok(Some(Entry { handle: known.number.into(), attributes: made.attributes }))
}

/// Makes anything but a regular file.
pub(super) fn make_node(
    shared: &Shared,
    cx: &Context<'_>,
    place: Place<'_>,
    node: NewNode<'_>,
    set: &SetAttributes,
) -> Result<Entry> {
    let dir = shared.handles.find_dir(&place.dir)?;
    let (mount, dir, name) = (&shared.mount_for(cx), &dir.handle, place.name.as_bytes());
    let special = |file| async move { mount.mknod(dir, name, file, set).await };
    let asked = shared.handles.now();
    let made = match node {
        NewNode::Directory => shared.wait(cx, mount.mkdir(dir, name, set)),
        NewNode::Symlink(target) => shared.wait(cx, mount.symlink(dir, name, target, set)),
        NewNode::BlockDevice(device) => shared.wait(cx, special(SpecialFile::BlockDevice(device))),
        NewNode::CharDevice(device) => shared.wait(cx, special(SpecialFile::CharDevice(device))),
        NewNode::Fifo => shared.wait(cx, special(SpecialFile::Fifo)),
        NewNode::Socket => shared.wait(cx, special(SpecialFile::Socket)),
    };
    shared.entry(cx, asked, &made?, Some(NameIn::new(*dir, name)))
}

/// Gives a file a further name.
pub(super) fn link(shared: &Shared, cx: &Context<'_>, node: &Handle, place: Place<'_>) -> Result<Attributes> {
    let (known, dir) = (shared.handles.find(node)?, shared.handles.find_dir(&place.dir)?);
    let (mount, name) = (&shared.mount_for(cx), place.name.as_bytes());
    let _name = shared.name_locks.lock(&[NameAt { dir: &dir, name }]);
    shared.wait(cx, mount.link(&known.handle, &dir.handle, name))?;
    shared.handles.name_again(&known.handle, NameIn::new(dir.handle, name));
    attributes::get(shared, cx, node)
}
