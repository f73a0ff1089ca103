//! The mark of an unfinished copy of a tree: a file in its top directory that names the original.
//!
//! A copy to an existing directory goes into that directory (cp(1)), and when a copy is repeated, its own directory
//! exists. The mark distinguishes the two. It is made before anything else in the directory, and removed when
//! everything is copied.

use std::fs::File;
use std::io::{self, Read, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

use bytes::{Buf, Bytes};
use client_files::{Handle, Mount, Status};
use rustix::fs::OFlags;
use vfs::{CreateMode, FileKind, SetAttributes, Stability};

use super::error::LocalError;
use super::local;

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

/// The original's name in a mark.
fn origin(text: &[u8]) -> Vec<u8> {
    text.split(|byte| *byte == b'\n').next().unwrap_or_default().to_vec()
}

/// The original of an unfinished copy in a directory of this machine, if it is one: the copy's
/// [`CopyOptions::mark`](super::CopyOptions::mark).
///
/// # Errors
/// The error of the system.
pub fn unfinished_here(dir: &Path) -> io::Result<Option<Vec<u8>>> {
    let flags = (OFlags::NOFOLLOW | OFlags::NONBLOCK).bits() as i32;
    let file = match File::options().read(true).custom_flags(flags).open(dir.join(NAME)) {
        Err(error) if matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory) => {
            return Ok(None);
        }
        other => other?,
    };
    let mut text = Vec::new();
    file.take(MAX_ORIGIN_BYTES.into()).read_to_end(&mut text)?;
    Ok(Some(origin(&text)))
}

/// The same for a directory on a server.
///
/// # Errors
/// The error of the server.
pub async fn unfinished_there(mount: &Mount, dir: &Handle) -> client_files::Result<Option<Vec<u8>>> {
    let found = match mount.lookup(dir, NAME.as_bytes()).await {
        Err(error) if error.status() == Some(Status::NoEntry) => return Ok(None),
        other => other?,
    };
    if found.attributes.kind != FileKind::Regular {
        return Ok(None);
    }
    let count = MAX_ORIGIN_BYTES.min(mount.sizes().read);
    Ok(Some(origin(&mount.read(&found.handle, 0, count).await?.bytes)))
}

pub(super) fn make_here(dir: &Path, origin: &[u8]) -> Result<(), LocalError> {
    let path = dir.join(NAME);
    local::create(&path, true)?.write_all(&text(origin)).map_err(LocalError::wrap(&path, "write"))
}

pub(super) fn remove_here(dir: &Path) -> Result<(), LocalError> {
    let path = dir.join(NAME);
    match std::fs::remove_file(&path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        other => other.map_err(LocalError::wrap(&path, "remove")),
    }
}

pub(super) async fn make_there(mount: &Mount, dir: &Handle, origin: &[u8]) -> client_files::Result<()> {
    let set = SetAttributes { mode: Some(PRIVATE), size_bytes: Some(0), ..SetAttributes::default() };
    let made = mount.create(dir, NAME.as_bytes(), CreateMode::Unchecked, &set).await?;
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

pub(super) async fn remove_there(mount: &Mount, dir: &Handle) -> client_files::Result<()> {
    match mount.remove(dir, NAME.as_bytes()).await {
        Err(error) if error.status() == Some(Status::NoEntry) => Ok(()),
        other => other,
    }
}
