//! Removes names, also of open files.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use client_files::Handle;
use vfs::{Context, Entry, FileKind, Place, Result};

use super::handles::{Known, NameAt, NameIn};
use super::opens::{Hidden, Removal};
use super::remote_file::HiddenName;
use super::shared::Shared;

/// Removes a name of anything but a directory. Looks the file up first if an open one could be lost.
pub(super) fn remove(shared: &Arc<Shared>, cx: &Context<'_>, place: Place<'_>, seen: Option<&Entry>) -> Result<()> {
    let dir = shared.handles.find_dir(&place.dir)?;
    let at = NameAt { dir: &dir, name: place.name.as_bytes() };
    let _name = shared.name_locks.lock(&[at]);
    let removal = match victim(shared, cx, at, seen)? {
        Victim::Open(victim) => return hide(shared, cx, at, &victim),
        Victim::Closed(removal) => removal,
    };
    shared.lose_name(at, || shared.wait(cx, shared.mount_for(cx).remove(&dir.handle, at.name)))?;
    removal.iter().filter_map(Removal::last_of).for_each(|file| shared.handles.note_gone(file));
    Ok(())
}

/// The file that a change takes a name from.
pub(super) enum Victim<'s> {
    /// It is open, and would lose its last name.
    Open(Known),
    /// It is not open, and nobody opens it until this is dropped; or it keeps another name.
    Closed(Option<Removal<'s>>),
}

/// The file that would lose its name. While no file is open, what the mount knows of the name suffices. A name of which
/// it knows nothing is looked up: otherwise somebody could open the file until it is gone.
pub(super) fn victim<'s>(
    shared: &'s Shared,
    cx: &Context<'_>,
    at: NameAt<'_>,
    seen: Option<&Entry>,
) -> Result<Victim<'s>> {
    if shared.opens.is_empty()
        && let Some(number) = shared.handles.file_at(at.dir, at.name)
        && let Some(removal) = shared.opens.begin_removal(number, false)
    {
        return Ok(Victim::Closed(Some(removal)));
    }
    let (victim, attributes) = match seen {
        Some(seen) => (shared.handles.find(&seen.handle)?, seen.attributes),
        None => {
            let found = shared.wait(cx, shared.mount_for(cx).find(&at.dir.handle, at.name))?;
            (shared.handles.meet(&found, Some(at.to_owned()))?, found.attributes)
        }
    };
    if attributes.kind != FileKind::Regular || attributes.links > 1 {
        return Ok(Victim::Closed(None));
    }
    shared.opens.let_go_of_new(victim.number);
    let removal = shared.opens.begin_removal(victim.number, true);
    Ok(if removal.is_some() { Victim::Closed(removal) } else { Victim::Open(victim) })
}

/// Renames an open file to a hidden name, which the last close removes.
fn hide(shared: &Arc<Shared>, cx: &Context<'_>, at: NameAt<'_>, victim: &Known) -> Result<()> {
    let dir = at.dir;
    let hidden = hidden_name(shared);
    shared
        .lose_name(at, || shared.wait(cx, shared.mount_for(cx).rename(&dir.handle, at.name, &dir.handle, &hidden)))?;
    remove_at_close(shared, cx, dir, victim, hidden);
    Ok(())
}

/// Has the last close remove a hidden name, or removes it now if the file is already closed.
pub(super) fn remove_at_close(shared: &Arc<Shared>, cx: &Context<'_>, dir: &Known, victim: &Known, hidden: Vec<u8>) {
    let hidden = Hidden { name: NameIn::new(dir.handle, &hidden), mount: shared.mount_for(cx) };
    if let Some(left) = HiddenName::unused(shared, victim.number, hidden) {
        shared.run(left.remove());
    }
}

/// A unique name with the usual prefix `.nfs`, so that tools that clean up behind clients find it.
pub(super) fn hidden_name(shared: &Shared) -> Vec<u8> {
    let count = shared.hidden_names.fetch_add(1, Ordering::Relaxed);
    format!(".nfs{:016x}{count:08x}", shared.name_seed).into_bytes()
}

pub(super) fn remove_dir(shared: &Shared, cx: &Context<'_>, place: Place<'_>) -> Result<()> {
    let dir = shared.handles.find_dir(&place.dir)?;
    let at = NameAt { dir: &dir, name: place.name.as_bytes() };
    shared.lose_name(at, || shared.wait(cx, shared.mount_for(cx).rmdir(&dir.handle, at.name)))
}

impl Shared {
    /// Runs an operation that removes a name, and invalidates the file's cached attributes.
    pub(super) fn lose_name<T>(&self, at: NameAt<'_>, work: impl FnOnce() -> Result<T>) -> Result<T> {
        let result = work();
        self.forget_name(at, result.is_ok());
        result
    }

    /// Invalidates the attributes of the file that a name leads to, and drops the name if it is gone. Returns the file.
    pub(super) fn forget_name(&self, at: NameAt<'_>, is_gone: bool) -> Option<Handle> {
        let file = self.handles.forget_name(at.dir, at.name)?;
        self.mount.outdate(&file);
        if !is_gone {
            self.handles.name_again(&file, at.to_owned());
        }
        Some(file)
    }
}
