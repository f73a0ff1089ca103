//! Refuses the copy of a tree into itself before anything is made. The two sides may name one directory differently: by
//! a URL, through a mount, or as the server's own directory.

use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use client_files::Mount;
use vfs::{Attributes, FileKind, Timestamp};

use super::error::CopyError;
use super::local;
use super::place::Place;

/// The most directories above a target that are compared: those of a path as long as Linux allows.
const MAX_ABOVE: usize = 4096;

/// Whether two times are the same as far as every version of NFS can represent them: in microseconds.
pub(super) fn is_one_time(a: Timestamp, b: Timestamp) -> bool {
    a.seconds == b.seconds && a.nanoseconds / 1000 == b.nanoseconds / 1000
}

/// Whether both are attributes of one directory. No two directories have the same number and the same time of change,
/// which nobody can set.
fn is_one_directory(a: &Attributes, b: &Attributes) -> bool {
    (a.kind, b.kind) == (FileKind::Directory, FileKind::Directory)
        && a.fileid == b.fileid
        && is_one_time(a.changed, b.changed)
        && is_one_time(a.modified, b.modified)
}

/// Refuses a target that is the original or inside of it; `above` are the target and the directories above it.
fn refuse(original: &Attributes, above: &[Attributes], path: &[u8]) -> Result<(), CopyError> {
    match above.iter().any(|dir| is_one_directory(dir, original)) {
        true => Err(CopyError::IntoItself { path: path.to_vec() }),
        false => Ok(()),
    }
}

/// Refuses a place on a server that is the original or inside of it.
pub(super) async fn refuse_there(original: &Attributes, mount: &Mount, to: &Place) -> Result<(), CopyError> {
    if original.kind != FileKind::Directory {
        return Ok(());
    }
    let mut above: Vec<Attributes> = to.look(mount).await.ok().map(|found| found.attributes).into_iter().collect();
    above.push(mount.getattr(&to.dir).await?);
    let mut dir = to.dir;
    // A directory above that may not be looked up is none that the user copies.
    while dir != mount.root().handle
        && above.len() < MAX_ABOVE
        && let Ok(parent) = mount.lookup_parent(&dir).await
    {
        above.push(parent.attributes);
        dir = parent.handle;
    }
    refuse(original, &above, &to.path)
}

/// Refuses a local path that is the original or inside of it.
pub(super) async fn refuse_here(original: &Attributes, to: &Path) -> Result<(), CopyError> {
    if original.kind != FileKind::Directory {
        return Ok(());
    }
    let path = to.to_owned();
    let above = local::blocking(move || {
        let parent = path.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."));
        let parent = parent.canonicalize().unwrap_or_default();
        Ok([path.as_path()]
            .into_iter()
            .chain(parent.ancestors())
            .filter_map(|dir| local::attributes_now(dir).ok())
            .collect::<Vec<_>>())
    });
    refuse(original, &above.await?, to.as_os_str().as_bytes())
}
