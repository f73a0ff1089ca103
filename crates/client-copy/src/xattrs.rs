//! Extended attributes of users: a copy has exactly those of its original.
//!
//! Names are those of RFC 8276, without the `user.` of Linux. So no name from a server can become a system attribute on
//! this machine.

use std::io;
use std::path::{Path, PathBuf};

use client_files::{Entry, Handle, Status, XattrMode};
use rustix::fs::{XattrFlags, lgetxattr, llistxattr, lremovexattr, lsetxattr};
use rustix::io::Errno;
use vfs::FileKind;

use super::error::CopyError;
use super::here::Here;
use super::job::Job;
use super::place::Place;
use super::sides::Xattrs;
use super::there::There;

/// Linux's prefix for the names of user attributes.
const PREFIX: &[u8] = b"user.";
/// The longest value, and the longest list of names, in bytes on Linux (`XATTR_SIZE_MAX`, `XATTR_LIST_MAX`).
const MAX_LOCAL_BYTES: usize = 65_536;

/// A file that has attributes, and the side that it is on.
pub(super) struct Holder<'h, X: Xattrs> {
    pub(super) side: &'h X,
    pub(super) file: &'h X::Holder,
}

/// Gives a copy its original's attributes, if they are to be kept. At most one value is in memory at a time.
pub(super) async fn keep<O: Xattrs, T: Xattrs>(
    job: &Job,
    path: &[u8],
    original: Holder<'_, O>,
    copy: Holder<'_, T>,
) -> Result<(), CopyError> {
    if !job.options.keep_xattrs {
        return Ok(());
    }
    let Holder { side: origin, file: original } = original;
    let Holder { side: target, file: copy } = copy;
    let names = origin.names(original, path).await?;
    // A new file has none.
    let before = if job.options.overwrite { target.names(copy, path).await? } else { vec![] };
    for name in before.iter().filter(|name| !names.contains(name)) {
        target.remove(copy, path, name).await?;
    }
    for name in &names {
        if let Some(value) = origin.value(original, path, name).await? {
            target.set(copy, path, name, value).await?;
        }
    }
    Ok(())
}

/// Refuses to copy from a server without extended attributes.
pub(super) async fn check_origin(job: &Job, side: &There, original: &Entry, path: &[u8]) -> Result<(), CopyError> {
    match original.attributes.kind {
        FileKind::Regular | FileKind::Directory => check(job, side, &original.handle, path).await,
        // Other kinds of files have none.
        _ => Ok(()),
    }
}

/// Refuses to copy to a server without extended attributes.
pub(super) async fn check_target(job: &Job, side: &There, to: &Place) -> Result<(), CopyError> {
    check(job, side, &to.dir, &to.path).await
}

async fn check(job: &Job, side: &There, file: &Handle, path: &[u8]) -> Result<(), CopyError> {
    if !job.options.keep_xattrs {
        return Ok(());
    }
    match side.names(file, path).await {
        // A user who may not list them here may do so below.
        Err(CopyError::Xattrs { source, .. }) if source.kind() != io::ErrorKind::Unsupported => Ok(()),
        other => other.map(drop),
    }
}

impl Xattrs for There {
    type Holder = Handle;

    async fn names(&self, file: &Handle, path: &[u8]) -> Result<Vec<Vec<u8>>, CopyError> {
        self.0.listxattrs(file).await.map_err(|error| failed(path, None, error))
    }

    async fn value(&self, file: &Handle, path: &[u8], name: &[u8]) -> Result<Option<Vec<u8>>, CopyError> {
        self.0.getxattr_if_there(file, name).await.map_err(|error| failed(path, Some(name), error))
    }

    async fn set(&self, file: &Handle, path: &[u8], name: &[u8], value: Vec<u8>) -> Result<(), CopyError> {
        let set = self.0.setxattr(file, name, &value, XattrMode::Either).await;
        set.map_err(|error| failed(path, Some(name), error))
    }

    async fn remove(&self, file: &Handle, path: &[u8], name: &[u8]) -> Result<(), CopyError> {
        match self.0.removexattr(file, name).await {
            Err(error) if error.status() == Some(Status::NoXattr) => Ok(()),
            removed => removed.map_err(|error| failed(path, Some(name), error)),
        }
    }
}

impl Xattrs for Here {
    type Holder = PathBuf;

    async fn names(&self, file: &PathBuf, path: &[u8]) -> Result<Vec<Vec<u8>>, CopyError> {
        let listed = blocking(file, |file| local_value(|list| llistxattr(file, list))).await?;
        match listed {
            Ok(list) => {
                let names = list.split(|byte| *byte == 0);
                Ok(names.filter_map(|name| name.strip_prefix(PREFIX)).map(<[u8]>::to_vec).collect())
            }
            // A file system without attributes has none to copy.
            Err(Errno::NOTSUP) => Ok(Vec::new()),
            Err(error) => Err(failed(path, None, error)),
        }
    }

    async fn value(&self, file: &PathBuf, path: &[u8], name: &[u8]) -> Result<Option<Vec<u8>>, CopyError> {
        let full = full(name);
        match blocking(file, move |file| local_value(|value| lgetxattr(file, &*full, value))).await? {
            Ok(value) => Ok(Some(value)),
            Err(Errno::NODATA) => Ok(None),
            Err(error) => Err(failed(path, Some(name), error)),
        }
    }

    async fn set(&self, file: &PathBuf, path: &[u8], name: &[u8], value: Vec<u8>) -> Result<(), CopyError> {
        let full = full(name);
        let set = blocking(file, move |file| lsetxattr(file, &*full, &value, XattrFlags::empty())).await?;
        set.map_err(|error| failed(path, Some(name), error))
    }

    async fn remove(&self, file: &PathBuf, path: &[u8], name: &[u8]) -> Result<(), CopyError> {
        let full = full(name);
        match blocking(file, move |file| lremovexattr(file, &*full)).await? {
            Ok(()) | Err(Errno::NODATA) => Ok(()),
            Err(error) => Err(failed(path, Some(name), error)),
        }
    }
}

/// The name with Linux's prefix.
fn full(name: &[u8]) -> Vec<u8> {
    [PREFIX, name].concat()
}

/// The bytes that a call writes into a buffer of the maximal size.
fn local_value(call: impl FnOnce(&mut [u8]) -> rustix::io::Result<usize>) -> rustix::io::Result<Vec<u8>> {
    let mut value = vec![0; MAX_LOCAL_BYTES];
    let length = call(&mut value)?;
    value.truncate(length);
    Ok(value)
}

/// Runs a blocking call outside of the asynchronous tasks.
async fn blocking<T, F>(file: &Path, call: F) -> Result<T, CopyError>
where
    T: Send + 'static,
    F: FnOnce(&Path) -> T + Send + 'static,
{
    let file = file.to_owned();
    Ok(tokio::task::spawn_blocking(move || call(&file)).await?)
}

fn failed(path: &[u8], name: Option<&[u8]>, source: impl Into<io::Error>) -> CopyError {
    CopyError::Xattrs { path: path.to_vec(), name: name.map(full), source: source.into() }
}
