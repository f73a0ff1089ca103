//! Finds out whether an existing target is the original under another name: through a mount, another server, or the
//! server's own directory. A new time of modification of the target then shows on both. The copy gets its own at its
//! end anyway.

use std::fs::File;
use std::sync::Arc;

use client_files::{Entry, Mount};
use vfs::{Attributes, FileKind, SetAttributes, SetTime, Timestamp};

use super::error::{CopyError, LocalError};
use super::local;
use super::nesting::is_one_time;

/// What attributes say.
pub(super) enum Likeness {
    /// They are two files.
    Two,
    /// They are one file. Two files of one number, length and time are hardly ever different ones, and a cache may hide
    /// a new time.
    One,
    /// They are one file if the original shows this time of modification once the target has it.
    Try(Timestamp),
}

pub(super) fn compare(original: &Attributes, target: &Attributes) -> Likeness {
    if target.kind != FileKind::Regular
        || original.size_bytes != target.size_bytes
        || !is_one_time(original.modified, target.modified)
    {
        return Likeness::Two;
    }
    match original.fileid == target.fileid {
        true => Likeness::One,
        false => Likeness::Try(Timestamp { seconds: original.modified.seconds ^ 1, nanoseconds: 0 }),
    }
}

/// Whether an open file of this machine is this file of a server.
///
/// # Errors
/// Those of the system and of the server.
pub async fn is_same_file(file: &Arc<File>, mount: &Mount, target: &Entry) -> Result<bool, CopyError> {
    let before = now(file).await?;
    let other = match compare(&before, &target.attributes) {
        Likeness::Try(other) if before.kind == FileKind::Regular => other,
        found => return Ok(matches!(found, Likeness::One)),
    };
    set_modified(mount, target, other).await?;
    let is_same = now(file).await?.modified.seconds == other.seconds;
    if is_same {
        set_modified(mount, target, before.modified).await?;
    }
    Ok(is_same)
}

async fn now(file: &Arc<File>) -> Result<Attributes, CopyError> {
    let file = Arc::clone(file);
    local::blocking(move || {
        local::attributes_of_open(&file).map_err(LocalError::wrap("standard input".as_ref(), "look at"))
    })
    .await
}

async fn set_modified(mount: &Mount, target: &Entry, time: Timestamp) -> Result<(), CopyError> {
    let set = SetAttributes { modified: Some(SetTime::To(time)), ..SetAttributes::default() };
    mount.setattr(&target.handle, &set).await?;
    Ok(())
}
