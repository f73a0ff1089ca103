use std::sync::Arc;

use vfs::{Context, Error, Place, Result};

use super::handles::{Known, NameIn};
use super::remove::{hidden_name, open_victim, remove_at_close};
use super::shared::Shared;

/// Moves a name over another one. An open file that would lose its last name gets a hidden one first.
pub(super) fn rename(shared: &Arc<Shared>, cx: &Context<'_>, from: Place<'_>, to: Place<'_>) -> Result<()> {
    let (from_dir, to_dir) = (shared.handles.find_dir(&from.dir)?, shared.handles.find_dir(&to.dir)?);
    let (from_name, to_name) = (from.name.as_bytes(), to.name.as_bytes());
    let hidden = match shared.opens.is_empty() {
        true => None,
        false => keep_victim(shared, cx, (&from_dir, from_name), (&to_dir, to_name))?,
    };
    let renamed = shared.move_name((&from_dir, from_name), (&to_dir, to_name), || {
        shared.wait(cx, shared.mount_for(cx).rename(&from_dir.handle, from_name, &to_dir.handle, to_name))
    });
    match hidden {
        None => renamed,
        Some((victim, hidden)) if renamed.is_ok() => remove_at_close(shared, cx, &to_dir, (&victim, hidden)),
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
    (from_dir, from_name): (&Known, &[u8]),
    (to_dir, to_name): (&Known, &[u8]),
) -> Result<Option<(Known, Vec<u8>)>> {
    let victim = match open_victim(shared, cx, (to_dir, to_name), None) {
        Ok(Some(victim)) => victim,
        Ok(None) | Err(Error::NoEntry | Error::NotDirectory) => return Ok(None),
        Err(error) => return Err(error),
    };
    let moved = shared.wait(cx, shared.mount_for(cx).find(&from_dir.handle, from_name))?;
    if moved.handle == victim.handle {
        return Ok(None);
    }
    let hidden = hidden_name(shared);
    match shared.wait(cx, shared.mount_for(cx).link(&victim.handle, &to_dir.handle, &hidden)) {
        Ok(()) => Ok(Some((victim, hidden))),
        // Without hard links it is renamed, and for a moment no file has the name.
        Err(Error::NotSupported) => {
            shared.wait(cx, shared.mount_for(cx).rename(&to_dir.handle, to_name, &to_dir.handle, &hidden))?;
            Ok(Some((victim, hidden)))
        }
        Err(error) => Err(error),
    }
}

impl Shared {
    /// Runs an operation that moves a name, and invalidates the attributes of both files.
    fn move_name(
        &self,
        (from_dir, from): (&Known, &[u8]),
        (to_dir, to): (&Known, &[u8]),
        work: impl FnOnce() -> Result<()>,
    ) -> Result<()> {
        let result = work();
        self.forget_name((to_dir, to), result.is_ok());
        let moved = self.forget_name((from_dir, from), result.is_ok());
        if let (Some(moved), Ok(())) = (moved, &result) {
            self.handles.name_again(&moved, NameIn::new(to_dir.handle, to));
        }
        result
    }
}
