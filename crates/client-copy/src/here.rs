//! Trees of this machine, as origin or target of a copy.
//!
//! A server's names are only names, and nothing here follows a symbolic link, existing or just made. So no server can
//! have a file written outside of the target.

use std::ffi::OsStr;
use std::io;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Path, PathBuf};

use client_files::SpecialFile;
use vfs::{Attributes, FileKind, Timestamp};

use super::error::{CopyError, LocalError};
use super::job::Job;
use super::sides::{Entries, Listed, Origin, Target};
use super::{local, mark};

/// This machine.
#[derive(Debug, Clone, Copy)]
pub(super) struct Here;

/// A file of this machine.
#[derive(Debug, Clone)]
pub(super) struct LocalFile {
    pub(super) path: PathBuf,
    pub(super) attributes: Attributes,
}

impl LocalFile {
    /// Looks at the original of a copy.
    pub(super) async fn top(path: &Path, follow: bool) -> Result<LocalFile, CopyError> {
        let path = path.to_owned();
        if !follow {
            return LocalFile::find(path).await;
        }
        let resolved = local::blocking(move || path.canonicalize().map_err(LocalError::wrap(&path, "look at")));
        LocalFile::find(resolved.await?).await
    }

    /// Looks at a file; at a symbolic link itself.
    pub(super) async fn find(path: PathBuf) -> Result<LocalFile, CopyError> {
        let name = path.clone();
        let metadata =
            local::blocking(move || std::fs::symlink_metadata(&name).map_err(LocalError::wrap(&name, "look at")));
        Ok(LocalFile { attributes: local::attributes(&metadata.await?), path })
    }
}

/// A directory of this machine, and its names not met yet.
pub(super) struct Names {
    dir: PathBuf,
    names: std::vec::IntoIter<Vec<u8>>,
}

impl Origin for Here {
    type File = LocalFile;
    type Listing<'l> = Names;

    fn attributes(file: &LocalFile) -> &Attributes {
        &file.attributes
    }

    fn holder(file: &LocalFile) -> &PathBuf {
        &file.path
    }

    async fn attributes_now(&self, file: &LocalFile, _: &[u8]) -> Result<Attributes, CopyError> {
        let path = file.path.clone();
        local::blocking(move || local::attributes_now(&path).map_err(LocalError::wrap(&path, "look at"))).await
    }

    async fn list(&self, dir: &LocalFile) -> Result<Names, CopyError> {
        let dir = dir.path.clone();
        local::blocking(move || local::names(&dir).map(|names| Names { names: names.into_iter(), dir })).await
    }

    async fn readlink(&self, link: &LocalFile, _: &[u8]) -> Result<Vec<u8>, CopyError> {
        let path = link.path.clone();
        let read = move || std::fs::read_link(&path).map_err(LocalError::wrap(&path, "read the symbolic link"));
        Ok(local::blocking(read).await?.into_os_string().into_vec())
    }
}

impl Entries<LocalFile> for Names {
    async fn next(&mut self, _: &[u8]) -> Result<Option<Listed<LocalFile>>, CopyError> {
        for name in self.names.by_ref() {
            match LocalFile::find(self.dir.join(OsStr::from_bytes(&name))).await {
                Err(CopyError::Local(error)) if error.source.kind() == io::ErrorKind::NotFound => {}
                found => return Ok(Some((name, found))),
            }
        }
        Ok(None)
    }
}

impl Target for Here {
    type Made = PathBuf;
    type Place = PathBuf;

    fn has_hard_links(&self) -> bool {
        true
    }

    fn place(dir: &PathBuf, _: &[u8], name: &[u8]) -> PathBuf {
        dir.join(OsStr::from_bytes(name))
    }

    async fn existing(&self, to: &PathBuf) -> Result<Option<(PathBuf, Attributes)>, CopyError> {
        let path = to.clone();
        let look = move || match local::attributes_now(&path) {
            Ok(attributes) => Ok(Some((path, attributes))),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(LocalError::wrap(&path, "look at")(error)),
        };
        local::blocking(look).await
    }

    async fn set_modified(&self, made: &PathBuf, _: &[u8], time: Timestamp) -> Result<(), CopyError> {
        make(made, move |path| local::set_modified(path, time)).await
    }

    async fn make_directory(
        &self,
        job: &Job,
        to: &PathBuf,
        like: &Attributes,
    ) -> Result<(PathBuf, Attributes), CopyError> {
        let mode = job.first_mode(like);
        match self.look(job, to, FileKind::Directory).await? {
            Way::Free => make(to, move |path| local::make_directory(path, mode)).await?,
            Way::Taken => {
                let open_up = |path: &Path| {
                    local::open_up(path);
                    Ok(())
                };
                make(to, open_up).await?;
            }
        }
        Ok((to.clone(), LocalFile::find(to.clone()).await?.attributes))
    }

    async fn mark_beside(&self, to: &PathBuf, origin: &[u8]) -> bool {
        let origin = origin.to_vec();
        make(to, move |dir| Ok(mark::make_beside_here(dir, &origin))).await.unwrap_or_default()
    }

    async fn move_mark_in(&self, _: &PathBuf, dir: &PathBuf) -> Result<(), CopyError> {
        make(dir, mark::move_in_here).await
    }

    async fn mark(&self, _: &PathBuf, dir: &PathBuf, origin: &[u8]) -> Result<(), CopyError> {
        let origin = origin.to_vec();
        make(dir, move |dir| mark::make_here(dir, &origin)).await
    }

    async fn move_mark_out(&self, _: &PathBuf, dir: &PathBuf) -> Result<(), CopyError> {
        make(dir, mark::move_out_here).await
    }

    async fn unmark(&self, to: &PathBuf) -> Result<(), CopyError> {
        make(to, mark::remove_beside_here).await
    }

    async fn make_symlink(&self, job: &Job, to: &PathBuf, target: Vec<u8>, like: &Attributes) -> Result<(), CopyError> {
        self.make_way(job, to, FileKind::Symlink).await?;
        let set = job.final_attributes(like);
        let made = make(to, move |path| {
            let target = OsStr::from_bytes(&target);
            std::os::unix::fs::symlink(target, path).map_err(LocalError::wrap(path, "make the symbolic link"))?;
            local::set(path, &set, true)
        });
        job.note_owner(made.await?);
        Ok(())
    }

    async fn make_special(
        &self,
        job: &Job,
        to: &PathBuf,
        node: SpecialFile,
        like: &Attributes,
    ) -> Result<(), CopyError> {
        self.make_way(job, to, like.kind).await?;
        let (set, mode) = (job.final_attributes(like), like.mode);
        let made = make(to, move |path| {
            local::make_special(path, node, mode)?;
            local::set(path, &set, false)
        });
        job.note_owner(made.await?);
        Ok(())
    }

    async fn make_link(&self, job: &Job, to: &PathBuf, copy: PathBuf) -> Result<(), CopyError> {
        self.make_way(job, to, FileKind::Regular).await?;
        make(to, move |path| std::fs::hard_link(copy, path).map_err(LocalError::wrap(path, "link"))).await
    }

    async fn finish(&self, job: &Job, _: &[u8], dir: PathBuf, like: &Attributes) -> Result<(), CopyError> {
        let set = job.final_attributes(like);
        job.note_owner(local::blocking(move || local::set(&dir, &set, false)).await?);
        Ok(())
    }
}

impl Here {
    /// Removes a file in the way if it is of the same kind and may be overwritten; otherwise it is an error.
    pub(super) async fn make_way(self, job: &Job, to: &Path, kind: FileKind) -> Result<(), CopyError> {
        match self.look(job, to, kind).await? {
            Way::Free => Ok(()),
            Way::Taken => make(to, |path| std::fs::remove_file(path).map_err(LocalError::wrap(path, "remove"))).await,
        }
    }

    async fn look(self, job: &Job, to: &Path, kind: FileKind) -> Result<Way, CopyError> {
        let path = || to.as_os_str().as_bytes().to_vec();
        match self.existing(&to.to_owned()).await? {
            None => Ok(Way::Free),
            Some(_) if !job.options.overwrite => Err(CopyError::Exists { path: path() }),
            Some((_, found)) if found.kind != kind => Err(CopyError::OtherKind { path: path() }),
            Some(_) => Ok(Way::Taken),
        }
    }
}

/// What is at a place where something is to be made.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Way {
    Free,
    /// Something of the same kind that may be overwritten.
    Taken,
}

async fn make<T: Send + 'static, F>(to: &Path, make: F) -> Result<T, CopyError>
where
    F: FnOnce(&Path) -> Result<T, LocalError> + Send + 'static,
{
    let to = to.to_owned();
    local::blocking(move || make(&to)).await
}
