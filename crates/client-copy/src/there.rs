//! Trees of a mount, as origin or target of a copy.

use client_files::{Detail, Entry, Error, Handle, Listing, Mount, SpecialFile, Status};
use vfs::{Attributes, FileKind, SetAttributes, SetTime, Timestamp};

use super::error::CopyError;
use super::job::Job;
use super::local::{OWNER_BITS, without_owner};
use super::mark;
use super::place::Place;
use super::sides::{Entries, Listed, Origin, Target};

/// A mounted export.
#[derive(Debug, Clone)]
pub(super) struct There(pub(super) Mount);

impl Origin for There {
    type File = Entry;
    type Listing<'l> = Listing<'l>;

    fn attributes(file: &Entry) -> &Attributes {
        &file.attributes
    }

    fn holder(file: &Entry) -> &Handle {
        &file.handle
    }

    async fn attributes_now(&self, file: &Entry, path: &[u8]) -> Result<Attributes, CopyError> {
        Ok(self.0.getattr(&file.handle).await.map_err(|error| error.about(path))?)
    }

    async fn list(&self, dir: &Entry) -> Result<Listing<'_>, CopyError> {
        Ok(self.0.read_dir(&dir.handle, Detail::Entries))
    }

    async fn readlink(&self, link: &Entry, path: &[u8]) -> Result<Vec<u8>, CopyError> {
        Ok(self.0.readlink(&link.handle).await.map_err(|error| error.about(path))?)
    }
}

impl Entries<Entry> for Listing<'_> {
    async fn next(&mut self, path: &[u8]) -> Result<Option<Listed<Entry>>, CopyError> {
        while let Some(found) = Listing::next(self).await.map_err(|error| error.about(path))? {
            match self.find(&found).await {
                Ok(Some(entry)) => return Ok(Some((found.name.into(), Ok(entry)))),
                Ok(None) => {}
                Err(error) => {
                    let error = error.about(&[path, b"/", &found.name].concat());
                    return Ok(Some((found.name.into(), Err(error.into()))));
                }
            }
        }
        Ok(None)
    }
}

impl Target for There {
    type Made = Handle;
    type Place = Place;

    fn has_hard_links(&self) -> bool {
        self.0.info().has_hard_links
    }

    fn place(dir: &Handle, path: &[u8], name: &[u8]) -> Place {
        Place { path: path.to_vec(), dir: *dir, name: name.to_vec() }
    }

    async fn existing(&self, to: &Place) -> Result<Option<(Handle, Attributes)>, CopyError> {
        match to.look(&self.0).await {
            Ok(found) => Ok(Some((found.handle, found.attributes))),
            Err(error) if error.status() == Some(Status::NoEntry) => Ok(None),
            Err(error) => Err(error.about(&to.path).into()),
        }
    }

    async fn set_modified(&self, made: &Handle, path: &[u8], time: Timestamp) -> Result<(), CopyError> {
        let set = SetAttributes { modified: Some(SetTime::To(time)), ..SetAttributes::default() };
        self.0.setattr(made, &set).await.map_err(|error| error.about(path))?;
        Ok(())
    }

    async fn make_directory(
        &self,
        job: &Job,
        to: &Place,
        like: &Attributes,
    ) -> Result<(Handle, Attributes), CopyError> {
        let set = SetAttributes { mode: Some(job.first_mode(like)), ..SetAttributes::default() };
        if !to.is_root() {
            match self.0.mkdir(&to.dir, &to.name, &set).await {
                Err(error) if error.status() == Some(Status::Exists) => {}
                made => {
                    let made = made.map_err(|error| error.about(&to.path))?;
                    return Ok((made.handle, made.attributes));
                }
            }
        }
        let found = to.existing(job, FileKind::Directory).await?;
        self.open_up(&found).await;
        Ok((found.handle, found.attributes))
    }

    async fn mark_beside(&self, to: &Place, origin: &[u8]) -> bool {
        let name = mark::name_beside(&to.name);
        !to.is_root() && mark::make_there(&self.0, &to.dir, &name, origin).await.is_ok()
    }

    async fn move_mark_in(&self, to: &Place, dir: &Handle) -> Result<(), CopyError> {
        let (beside, name) = (mark::name_beside(&to.name), mark::NAME.as_bytes());
        let moved = self.0.rename(&to.dir, &beside, dir, name).await;
        Ok(moved.map_err(|error| error.about(&mark::path_in(&to.path)))?)
    }

    async fn mark(&self, to: &Place, dir: &Handle, origin: &[u8]) -> Result<(), CopyError> {
        let made = mark::make_there(&self.0, dir, mark::NAME.as_bytes(), origin).await;
        Ok(made.map_err(|error| error.about(&mark::path_in(&to.path)))?)
    }

    async fn move_mark_out(&self, to: &Place, dir: &Handle) -> Result<(), CopyError> {
        let moved = mark::move_out_there(&self.0, to, dir).await;
        Ok(moved.map_err(|error| error.about(&mark::path_in(&to.path)))?)
    }

    async fn unmark(&self, to: &Place) -> Result<(), CopyError> {
        let name = mark::name_beside(&to.name);
        if to.is_root() {
            return Ok(());
        }
        Ok(mark::remove_there(&self.0, &to.dir, &name).await.map_err(|error| error.about(&name))?)
    }

    async fn make_symlink(&self, job: &Job, to: &Place, target: Vec<u8>, like: &Attributes) -> Result<(), CopyError> {
        to.make_way(job, FileKind::Symlink).await?;
        let made = self.0.symlink(&to.dir, &to.name, &target, &SetAttributes::default()).await;
        let made = to.refuse_existing(made)?;
        let set = SetAttributes { mode: None, ..job.final_attributes(like) };
        if !set.is_empty() {
            // Not every server can set the times of a symbolic link, and nothing depends on them.
            let _ = self.0.setattr(&made.handle, &set).await;
        }
        Ok(())
    }

    async fn make_special(&self, job: &Job, to: &Place, node: SpecialFile, like: &Attributes) -> Result<(), CopyError> {
        to.make_way(job, like.kind).await?;
        let set = SetAttributes { mode: Some(like.mode), ..SetAttributes::default() };
        let made = to.refuse_existing(self.0.mknod(&to.dir, &to.name, node, &set).await)?;
        self.set_final(job, &to.path, &made.handle, &job.final_attributes(like)).await
    }

    async fn make_link(&self, job: &Job, to: &Place, copy: Handle) -> Result<(), CopyError> {
        to.make_way(job, FileKind::Regular).await?;
        to.refuse_existing(self.0.link(&copy, &to.dir, &to.name).await)?;
        Ok(())
    }

    async fn finish(&self, job: &Job, path: &[u8], dir: Handle, like: &Attributes) -> Result<(), CopyError> {
        self.set_final(job, path, &dir, &job.final_attributes(like)).await
    }
}

impl There {
    /// Sets the final attributes of a copy, without its owner if the server does not permit that.
    pub(super) async fn set_final(
        &self,
        job: &Job,
        path: &[u8],
        copy: &Handle,
        set: &SetAttributes,
    ) -> Result<(), CopyError> {
        let about = |error: Error| error.about(path);
        match (self.0.setattr(copy, set).await, without_owner(set)) {
            (Err(error), Some(rest)) if error.status() == Some(Status::NotPermitted) => {
                self.0.setattr(copy, &rest).await.map_err(about)?;
                job.note_owner(false);
            }
            (done, _) => drop(done.map_err(about)?),
        }
        Ok(())
    }

    /// Lets the owner of a directory make files in it, which the mode from an earlier copy may forbid. A failure recurs
    /// when a file is made.
    async fn open_up(&self, dir: &Entry) {
        let mode = dir.attributes.mode;
        if mode & OWNER_BITS != OWNER_BITS {
            let set = SetAttributes { mode: Some(mode | OWNER_BITS), ..SetAttributes::default() };
            let _ = self.0.setattr(&dir.handle, &set).await;
        }
    }
}
