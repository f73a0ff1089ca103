use std::sync::Arc;

use vfs::{Context, Error, Place, Result};

use super::handles::{Known, NameAt};
use super::opens::Removal;
use super::remove::{Victim, hidden_name, remove_at_close, victim};
use super::shared::Shared;

/// Moves a name over another one. An open file that would lose its last name gets a hidden one first.
pub(super) fn rename(shared: &Arc<Shared>, cx: &Context<'_>, from: Place<'_>, to: Place<'_>) -> Result<()> {
    let (from_dir, to_dir) = (shared.handles.find_dir(&from.dir)?, shared.handles.find_dir(&to.dir)?);
    let old = NameAt { dir: &from_dir, name: from.name.as_bytes() };
    let new = NameAt { dir: &to_dir, name: to.name.as_bytes() };
    let _names = shared.name_locks.lock(&[old, new]);
    let (removal, hidden) = keep_victim(shared, cx, old, new)?;
    let renamed = shared.move_name(old, new, || {
        shared.wait(cx, shared.mount_for(cx).rename(&from_dir.handle, old.name, &to_dir.handle, new.name))
    });
    if renamed.is_ok() && (from.dir, old.name) != (to.dir, new.name) {
        removal.iter().filter_map(Removal::last_of).for_each(|file| shared.handles.note_gone(file));
    }
    let Some((victim, hidden)) = hidden else { return renamed };
    // Another client may have removed the name of a file that this did not replace: its hidden name stays, too.
    remove_at_close(shared, cx, &to_dir, &victim, hidden);
    renamed
}

/// What keeps the file that a rename takes its last name from: nobody opens it, or it has a hidden name.
type Kept<'s> = (Option<Removal<'s>>, Option<(Known, Vec<u8>)>);

/// Gives an open file that would lose its last name a hidden one in the same directory.
fn keep_victim<'s>(shared: &'s Shared, cx: &Context<'_>, old: NameAt<'_>, new: NameAt<'_>) -> Result<Kept<'s>> {
    let victim = match victim(shared, cx, new, None) {
        Ok(Victim::Open(victim)) => victim,
        Ok(Victim::Closed(removal)) => return Ok((removal, None)),
        Err(Error::NoEntry | Error::NotDirectory) => return Ok((None, None)),
        Err(error) => return Err(error),
    };
    let moved = shared.wait(cx, shared.mount_for(cx).find(&old.dir.handle, old.name))?;
    if moved.handle == victim.handle {
        return Ok((None, None));
    }
    let hidden = hidden_name(shared);
    match shared.wait(cx, shared.mount_for(cx).link(&victim.handle, &new.dir.handle, &hidden)) {
        Ok(()) => Ok((None, Some((victim, hidden)))),
        // Without hard links it is renamed, and for a moment no file has the name.
        Err(Error::NotSupported) => {
            shared.wait(cx, shared.mount_for(cx).rename(&new.dir.handle, new.name, &new.dir.handle, &hidden))?;
            Ok((None, Some((victim, hidden))))
        }
        Err(error) => Err(error),
    }
}

impl Shared {
    /// Runs an operation that moves a name, and invalidates the attributes of both files.
    fn move_name(&self, old: NameAt<'_>, new: NameAt<'_>, work: impl FnOnce() -> Result<()>) -> Result<()> {
        let result = work();
        self.forget_name(new, result.is_ok());
        let moved = self.forget_name(old, result.is_ok());
        if let (Some(moved), Ok(())) = (moved, &result) {
            self.handles.name_again(&moved, new.to_owned());
        }
        result
    }
}
