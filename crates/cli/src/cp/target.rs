//! Finds the target of a copy: the path that the user names, or a name in an existing directory (cp(1)). With --resume,
//! and with --overwrite for an incomplete copy, a directory that is a copy of the same original is completed instead.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use client::copy::{Mark, has_time, unfinished_here, unfinished_there};
use client::{Entry, Follow, Status, Url};
use vfs::{FileKind, Timestamp};

use super::Copy;
use crate::failure::Failure;
use crate::remote::{Session, about};

/// What is copied.
pub(super) struct Source {
    /// Its name in an existing target directory.
    pub(super) name: Vec<u8>,
    /// Its name in the mark of an incomplete copy.
    pub(super) origin: Vec<u8>,
    pub(super) is_dir: bool,
    pub(super) modified: Timestamp,
}

/// An existing directory at the target.
struct Existing {
    file: String,
    /// Its mark, if it is an incomplete copy.
    mark: Option<Mark>,
    modified: Timestamp,
    /// Whether it has an entry with the source's name.
    has_inner: bool,
}

impl Copy<'_> {
    /// The remote path of the copy.
    pub(super) async fn target_there(&self, session: &Session, source: &Source) -> Result<Vec<u8>, Failure> {
        let target = session.below();
        let found = match session.mount.walk(&target, Follow::Links).await {
            Err(error) if error.status() == Some(Status::NoEntry) => None,
            other => Some(other.map_err(about(session.name()))?),
        };
        match found.filter(|found| found.attributes.kind == FileKind::Directory) {
            None if self.is_one_of_several => Err(Failure::NoDirectory { file: session.name() }),
            None => Ok(target),
            Some(found) => {
                let takes_in = self.takes_in(source, &self.existing_there(session, &found, source).await?)?;
                Ok(if takes_in { [&target, &b"/"[..], &source.name].concat() } else { target })
            }
        }
    }

    async fn existing_there(&self, session: &Session, dir: &Entry, source: &Source) -> Result<Existing, Failure> {
        let failed = || about(session.name());
        let has_inner = match session.mount.lookup(&dir.handle, &source.name).await {
            Err(error) if error.status() == Some(Status::NoEntry) => false,
            other => other.map(|_| true).map_err(failed())?,
        };
        let mark = unfinished_there(&session.mount, &session.below(), &dir.handle).await.map_err(failed())?;
        Ok(Existing { file: session.name(), mark, modified: dir.attributes.modified, has_inner })
    }

    /// The local path of the copy.
    pub(super) fn target_here(&self, to: &Path, source: &Source) -> Result<PathBuf, Failure> {
        if !to.is_dir() {
            let is_missing = self.is_one_of_several;
            return if is_missing {
                Err(Failure::NoDirectory { file: to.display().to_string() })
            } else {
                Ok(to.to_owned())
            };
        }
        let local = |source| Failure::Local { path: to.to_owned(), source };
        let inner = to.join(OsStr::from_bytes(&source.name));
        let existing = Existing {
            file: to.display().to_string(),
            mark: unfinished_here(to).map_err(local)?,
            modified: std::fs::metadata(to).and_then(|metadata| metadata.modified()).map_err(local)?.into(),
            has_inner: std::fs::symlink_metadata(&inner).is_ok(),
        };
        Ok(if self.takes_in(source, &existing)? { inner } else { to.to_owned() })
    }

    /// Whether to copy into an existing directory. Otherwise it is the copy itself.
    fn takes_in(&self, source: &Source, existing: &Existing) -> Result<bool, Failure> {
        if self.is_one_of_several || !source.is_dir {
            return Ok(true);
        }
        if self.flags.no_target_directory {
            return Ok(false);
        }
        match &existing.mark {
            Some(mark) if may_be_of(mark, source) && (self.flags.resume || self.flags.overwrite) => Ok(false),
            Some(mark) => Err(Failure::Unfinished {
                mark: String::from_utf8_lossy(&mark.path(existing.file.as_bytes())).into_owned(),
                file: existing.file.clone(),
                origin: match &mark.origin[..] {
                    b"" => "an unknown original".to_owned(),
                    origin => String::from_utf8_lossy(origin).into_owned(),
                },
                is_same: may_be_of(mark, source),
            }),
            // A directory gets its original's time when its copy is complete.
            None => Ok(!self.flags.resume || existing.has_inner || !has_time(existing.modified, source.modified)),
        }
    }
}

/// Whether a copy may be one of this source. An empty mark is of a copy that was killed before it copied anything.
fn may_be_of(mark: &Mark, source: &Source) -> bool {
    mark.origin.is_empty() || mark.origin == source.origin
}

/// The name of a source in a target directory. A path such as `..` must be resolved first.
pub(super) fn local_name(from: &Path) -> Result<Vec<u8>, Failure> {
    let name = |path: &Path| path.file_name().map(|name| name.as_bytes().to_vec());
    if let Some(name) = name(from) {
        return Ok(name);
    }
    let whole = from.canonicalize().map_err(|source| Failure::Local { path: from.to_owned(), source })?;
    Ok(name(&whole).unwrap_or_default())
}

pub(super) fn remote_name(from: &Url) -> Vec<u8> {
    from.path.rsplit(|byte| *byte == b'/').find(|part| !part.is_empty()).unwrap_or_default().to_vec()
}

/// The name of a local source in the mark: its absolute path, without line breaks.
pub(super) fn local_origin(from: &Path) -> Result<Vec<u8>, Failure> {
    let whole = std::path::absolute(from).map_err(|source| Failure::Local { path: from.to_owned(), source })?;
    let whole = whole.canonicalize().unwrap_or(whole);
    Ok(whole.as_os_str().as_bytes().escape_ascii().collect())
}

/// The name of a remote source in the mark: host and path, without the port.
pub(super) fn remote_origin(from: &Url) -> Vec<u8> {
    let path = from.path.split(|byte| *byte == b'/').filter(|part| !part.is_empty());
    let path = path.fold(Vec::new(), |path, part| [&path, &b"/"[..], part].concat());
    Url { port: None, path, ..from.clone() }.to_string().into_bytes()
}
