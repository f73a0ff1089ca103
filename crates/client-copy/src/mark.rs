//! The mark of an unfinished copy of a tree: a file in its top directory that names the original.
//!
//! A copy to an existing directory goes into that directory (cp(1)), and when a copy is repeated, its own directory
//! exists. The mark distinguishes the two, whenever the copy is killed. It is made beside the directory, which is made
//! next, and is then moved into it. When everything is copied it is moved beside the directory again, and is removed
//! when the directory has its original's time.

use std::ffi::OsStr;
use std::fs::File;
use std::io::{self, Read, Write};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use bytes::{Buf, Bytes};
use client_files::{Handle, Mount, Reason, Status};
use rustix::fs::OFlags;
use vfs::{CreateMode, FileKind, SetAttributes, Stability};

use super::error::LocalError;
use super::local;
use super::place::Place;

/// The name of the mark.
pub(super) const NAME: &str = ".wharf-copy";
/// The mode of the mark.
const PRIVATE: u32 = 0o600;
/// The longest name of an original, in bytes: a host, and a path with every byte escaped.
const MAX_ORIGIN_BYTES: u32 = 20 * 1024;

/// The path of the mark in a directory, for messages.
pub(super) fn path_in(dir: &[u8]) -> Vec<u8> {
    [dir, b"/", NAME.as_bytes()].concat()
}

/// The contents of the mark of a copy of `origin`.
fn text(origin: &[u8]) -> Vec<u8> {
    const ADVICE: &[u8] =
        b"\nThis directory is not yet a whole copy of that. The same wharf cp with --resume completes it.\n";
    [origin, ADVICE].concat()
}

/// The mark of an unfinished copy.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Mark {
    /// The copy's [`CopyOptions::mark`](super::CopyOptions::mark). Empty if its writer was killed meanwhile.
    pub origin: Vec<u8>,
    /// Whether the mark is beside the directory and not in it.
    pub is_beside: bool,
}

impl Mark {
    /// The mark with these contents.
    fn read(text: &[u8], is_beside: bool) -> Mark {
        let end = text.iter().position(|byte| *byte == b'\n');
        Mark { origin: text[..end.unwrap_or_default()].to_vec(), is_beside }
    }

    /// The path of the mark of the directory at `path`.
    pub fn path(&self, path: &[u8]) -> Vec<u8> {
        if !self.is_beside {
            return path_in(path);
        }
        let start = path.iter().rposition(|byte| *byte == b'/').map_or(0, |slash| slash + 1);
        [&path[..start], &name_beside(&path[start..])].concat()
    }
}

/// The name of the mark beside the directory `name`.
pub(super) fn name_beside(name: &[u8]) -> Vec<u8> {
    [NAME.as_bytes(), b".", name].concat()
}

/// The path of the mark beside a directory, if the path has its name.
fn path_beside(dir: &Path) -> Option<PathBuf> {
    Some(dir.with_file_name(OsStr::from_bytes(&name_beside(dir.file_name()?.as_bytes()))))
}

/// The mark of an unfinished copy at a directory of this machine, if it is one.
///
/// # Errors
/// The error of the system.
pub fn unfinished_here(dir: &Path) -> io::Result<Option<Mark>> {
    for (path, is_beside) in [(Some(dir.join(NAME)), false), (path_beside(dir), true)] {
        if let Some(path) = path
            && let Some(text) = read_here(&path)?
        {
            return Ok(Some(Mark::read(&text, is_beside)));
        }
    }
    Ok(None)
}

fn read_here(path: &Path) -> io::Result<Option<Vec<u8>>> {
    let flags = (OFlags::NOFOLLOW | OFlags::NONBLOCK).bits() as i32;
    let file = match File::options().read(true).custom_flags(flags).open(path) {
        Err(error) if matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::InvalidFilename) => {
            return Ok(None);
        }
        other => other?,
    };
    let mut text = Vec::new();
    file.take(MAX_ORIGIN_BYTES.into()).read_to_end(&mut text)?;
    Ok(Some(text))
}

/// The mark of an unfinished copy at the directory `path` of a mount, if it is one; `dir` is its handle.
///
/// # Errors
/// The error of the server.
pub async fn unfinished_there(mount: &Mount, path: &[u8], dir: &Handle) -> client_files::Result<Option<Mark>> {
    if let Some(text) = read_there(mount, dir, NAME.as_bytes()).await? {
        return Ok(Some(Mark::read(&text, false)));
    }
    if path.iter().all(|byte| *byte == b'/') {
        return Ok(None);
    }
    let (parent, name) = mount.walk_parent(path).await?;
    let text = read_there(mount, &parent.handle, &name_beside(name)).await?;
    Ok(text.map(|text| Mark::read(&text, true)))
}

async fn read_there(mount: &Mount, dir: &Handle, name: &[u8]) -> client_files::Result<Option<Bytes>> {
    let found = match mount.lookup(dir, name).await {
        Err(error) if matches!(error.status(), Some(Status::NoEntry | Status::NameTooLong)) => return Ok(None),
        // A name beside it is too long for this client.
        Err(error) if matches!(error.reason(), Reason::Name(_)) => return Ok(None),
        other => other?,
    };
    if found.attributes.kind != FileKind::Regular {
        return Ok(None);
    }
    let count = MAX_ORIGIN_BYTES.min(mount.sizes().read);
    Ok(Some(mount.read(&found.handle, 0, count).await?.bytes))
}

/// Makes the mark beside a directory that is to be made. Returns whether that worked: the name may be too long.
pub(super) fn make_beside_here(dir: &Path, origin: &[u8]) -> bool {
    path_beside(dir).is_some_and(|path| write_here(&path, origin).is_ok())
}

/// Moves the mark from beside a directory into it.
pub(super) fn move_in_here(dir: &Path) -> Result<(), LocalError> {
    let path = dir.join(NAME);
    let from = path_beside(dir).unwrap_or_default();
    std::fs::rename(from, &path).map_err(LocalError::wrap(&path, "move the mark to"))
}

pub(super) fn make_here(dir: &Path, origin: &[u8]) -> Result<(), LocalError> {
    write_here(&dir.join(NAME), origin)
}

fn write_here(path: &Path, origin: &[u8]) -> Result<(), LocalError> {
    local::create(path, true)?.write_all(&text(origin)).map_err(LocalError::wrap(path, "write"))
}

/// Moves the mark beside its directory, or removes it if that is impossible.
pub(super) fn move_out_here(dir: &Path) -> Result<(), LocalError> {
    match path_beside(dir).map(|beside| std::fs::rename(dir.join(NAME), beside)) {
        Some(Ok(())) => Ok(()),
        _ => remove(&dir.join(NAME)),
    }
}

pub(super) fn remove_beside_here(dir: &Path) -> Result<(), LocalError> {
    path_beside(dir).map_or(Ok(()), |path| remove(&path))
}

fn remove(path: &Path) -> Result<(), LocalError> {
    match std::fs::remove_file(path) {
        Err(error) if matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::InvalidFilename) => Ok(()),
        other => other.map_err(LocalError::wrap(path, "remove")),
    }
}

pub(super) async fn make_there(mount: &Mount, dir: &Handle, name: &[u8], origin: &[u8]) -> client_files::Result<()> {
    let set = SetAttributes { mode: Some(PRIVATE), size_bytes: Some(0), ..SetAttributes::default() };
    let made = mount.create(dir, name, CreateMode::Unchecked, &set).await?;
    let mut left = Bytes::from(text(origin));
    let mut offset = 0;
    while !left.is_empty() {
        let piece = left.slice(..left.len().min(mount.sizes().write as usize));
        let written = mount.write(&made.handle, offset, piece, Stability::File).await?;
        offset += u64::from(written.count);
        left.advance(written.count as usize);
    }
    Ok(())
}

/// Moves the mark beside its directory, or removes it if that is impossible.
pub(super) async fn move_out_there(mount: &Mount, to: &Place, dir: &Handle) -> client_files::Result<()> {
    let beside = name_beside(&to.name);
    if !to.is_root() && mount.rename(dir, NAME.as_bytes(), &to.dir, &beside).await.is_ok() {
        return Ok(());
    }
    remove_there(mount, dir, NAME.as_bytes()).await
}

pub(super) async fn remove_there(mount: &Mount, dir: &Handle, name: &[u8]) -> client_files::Result<()> {
    match mount.remove(dir, name).await {
        Err(error) if matches!(error.status(), Some(Status::NoEntry | Status::NameTooLong)) => Ok(()),
        Err(error) if matches!(error.reason(), Reason::Name(_)) => Ok(()),
        other => other,
    }
}
