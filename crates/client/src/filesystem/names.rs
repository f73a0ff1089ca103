use vfs::{Context, Entry, Error, FileKind, Handle, OpenFile, Place, Result};

use super::Shared;
use super::handles::{Handles, NameIn};

pub(super) fn lookup(shared: &Shared, cx: &Context<'_>, place: Place<'_>) -> Result<Entry> {
    let dir = shared.handles.find_dir(&place.dir)?;
    let name = place.name.as_bytes();
    let found = shared.wait(cx, shared.mount_for(cx).find(&dir.handle, name))?;
    shared.entry(cx, &found, Some(NameIn::new(dir.handle, name)))
}

/// The directory above. The server may have one above the root, which is not looked for.
pub(super) fn parent(shared: &Shared, cx: &Context<'_>, dir: &Handle) -> Result<Entry> {
    let known = shared.handles.find_dir(dir)?;
    if known.number == Handles::ROOT {
        let attributes = shared.wait(cx, shared.mount_for(cx).attributes(&known.handle))?;
        return Ok(Entry { handle: *dir, attributes });
    }
    let found = shared.wait(cx, shared.mount_for(cx).lookup_parent(&known.handle))?;
    shared.entry(cx, &found, None)
}

pub(super) fn read_link(shared: &Shared, cx: &Context<'_>, node: &Handle) -> Result<Vec<u8>> {
    let known = shared.handles.find(node)?;
    if known.kind != FileKind::Symlink {
        return Err(Error::WrongKind);
    }
    shared.wait(cx, shared.mount_for(cx).link_target(&known.handle)).map(|target| target.to_vec())
}

impl Shared {
    /// What was met, under its number. Of a file that is written here the server may not know all yet.
    pub(super) fn entry(&self, cx: &Context<'_>, found: &crate::Entry, name: Option<NameIn>) -> Result<Entry> {
        let known = self.handles.meet(found, name)?;
        let attributes = match self.opens.writer(known.number) {
            Some(file) => file.attributes(cx)?,
            None => found.attributes,
        };
        Ok(Entry { handle: known.number.into(), attributes })
    }
}
