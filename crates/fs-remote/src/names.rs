use client_files::Rights;
use vfs::{Context, Entry, Error, FileKind, Found, Handle, OpenFile, Place, Result};

use super::handles::{Handles, Known, Moment, NameIn};
use super::shared::Shared;

pub(super) fn lookup(shared: &Shared, cx: &Context<'_>, place: Place<'_>) -> Result<Entry> {
    let dir = shared.handles.find_dir(&place.dir)?;
    let name = place.name.as_bytes();
    let asked = shared.handles.now();
    let found = shared.wait(cx, shared.mount_for(cx).find(&dir.handle, name))?;
    shared.entry(cx, asked, &found, Some(NameIn::new(dir.handle, name)))
}

/// Like [`lookup`], but does not refetch expired attributes of a file that is no directory and has no writer here:
/// removing or renaming it does not need them. Walking through a directory fetches its attributes anyway.
pub(super) fn find(shared: &Shared, cx: &Context<'_>, place: Place<'_>) -> Result<Found> {
    let dir = shared.handles.find_dir(&place.dir)?;
    let name = place.name.as_bytes();
    let asked = shared.handles.now();
    let (found, is_current) = shared.wait(cx, shared.mount_for(cx).find_or_remember(&dir.handle, name))?;
    let entry = shared.entry(cx, asked, &found, Some(NameIn::new(dir.handle, name)))?;
    Ok(Found { entry, is_current })
}

/// The parent directory. The server may have one above the root, which is not looked up.
pub(super) fn parent(shared: &Shared, cx: &Context<'_>, dir: &Handle) -> Result<Entry> {
    let known = shared.handles.find_dir(dir)?;
    if known.number == Handles::ROOT {
        let attributes = shared.wait(cx, shared.mount_for(cx).attributes(&known.handle))?;
        return Ok(Entry { handle: *dir, attributes });
    }
    let asked = shared.handles.now();
    let found = match parent_by_name(shared, cx, &known) {
        Some(found) => found?,
        None => shared.wait(cx, shared.mount_for(cx).lookup_parent(&known.handle))?,
    };
    shared.entry(cx, asked, &found, None)
}

/// The directory in which a directory was last found, if the cached name is still valid.
fn parent_by_name(shared: &Shared, cx: &Context<'_>, dir: &Known) -> Option<Result<client_files::Entry>> {
    let NameIn { dir: handle, name } = shared.handles.name(dir.number)?;
    let mount = shared.mount_for(cx);
    if mount.known_name(&handle, &name) != Some(dir.handle) {
        return None;
    }
    let found = async {
        mount.judge(&dir.handle, |rights| rights.contains(Rights::LOOKUP)).await?;
        mount.attributes(&handle).await.map(|attributes| client_files::Entry { handle, attributes })
    };
    Some(shared.wait(cx, found))
}

pub(super) fn read_link(shared: &Shared, cx: &Context<'_>, node: &Handle) -> Result<Vec<u8>> {
    let known = shared.handles.find(node)?;
    if known.kind != FileKind::Symlink {
        return Err(Error::WrongKind);
    }
    shared.wait(cx, shared.mount_for(cx).link_target(&known.handle)).map(|target| target.to_vec())
}

impl Shared {
    /// Registers a file that was asked for and returns it under its number. If it is written here, the server may not
    /// have all changes yet.
    pub(super) fn entry(
        &self,
        cx: &Context<'_>,
        asked: Moment,
        found: &client_files::Entry,
        name: Option<NameIn>,
    ) -> Result<Entry> {
        let known = self.handles.meet_asked(asked, found, name)?;
        let attributes = match self.opens.writer(known.number) {
            Some(file) => file.attributes(cx)?,
            None => found.attributes,
        };
        Ok(Entry { handle: known.number.into(), attributes })
    }
}
