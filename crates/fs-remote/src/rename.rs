use std::sync::Arc;

use vfs::{Context, Error, Place, Result};

use super::handles::{Known, NameAt};
use super::remove::{hidden_name, open_victim, remove_at_close};
use super::shared::Shared;

/// Moves a name over another one. An open file that would lose its last name gets a hidden one first.
pub(super) fn rename(shared: &Arc<Shared>, cx: &Context<'_>, from: Place<'_>, to: Place<'_>) -> Result<()> {
    let (from_dir, to_dir) = (shared.handles.find_dir(&from.dir)?, shared.handles.find_dir(&to.dir)?);
    let old = NameAt { dir: &from_dir, name: from.name.as_bytes() };
    let new = NameAt { dir: &to_dir, name: to.name.as_bytes() };
    let hidden = match shared.opens.is_empty() {
        true => None,
        false => keep_victim(shared, cx, old, new)?,
    };
    let renamed = shared.move_name(old, new, || {
        shared.wait(cx, shared.mount_for(cx).rename(&from_dir.handle, old.name, &to_dir.handle, new.name))
    });
    match hidden {
        None => renamed,
        Some((victim, hidden)) if renamed.is_ok() => remove_at_close(shared, cx, &to_dir, &victim, hidden),
        Some((_, hidden)) => {
            // Nothing was lost, so the hidden name is not needed.
            let _ = shared.wait(cx, shared.mount_for(cx).remove(&to_dir.handle, &hidden));
            renamed
        }
    }
}

/// Gives an open file that would lose its last name a hidden one in the same directory.
fn keep_victim(
    shared: &Shared,
    cx: &Context<'_>,
    old: NameAt<'_>,
    new: NameAt<'_>,
) -> Result<Option<(Known, Vec<u8>)>> {
    let victim = match open_victim(shared, cx, new, None) {
        Ok(Some(victim)) => victim,
        Ok(None) | Err(Error::NoEntry | Error::NotDirectory) => return Ok(None),
        Err(error) => return Err(error),
    };
    let moved = shared.wait(cx, shared.mount_for(cx).find(&old.dir.handle, old.name))?;
    if moved.handle == victim.handle {
        return Ok(None);
    }
    let hidden = hidden_name(shared);
    match shared.wait(cx, shared.mount_for(cx).link(&victim.handle, &new.dir.handle, &hidden)) {
        Ok(()) => Ok(Some((victim, hidden))),
        // Without hard links it is renamed, and for a moment no file has the name.
        Err(Error::NotSupported) => {
            shared.wait(cx, shared.mount_for(cx).rename(&new.dir.handle, new.name, &new.dir.handle, &hidden))?;
            Ok(Some((victim, hidden)))
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
