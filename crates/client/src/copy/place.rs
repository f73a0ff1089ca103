//! A place on the server for a copy, and what may be there already.

use vfs::{CreateMode, FileKind, SetAttributes};

use super::CopyError;
use super::job::Job;
use crate::{Entry, Handle, Status};

/// The mode of a file while it is written.
const PRIVATE: u32 = 0o600;

/// Where something is copied to.
#[derive(Debug)]
pub(super) struct Place {
    /// The path below the tree's top, for messages.
    pub(super) path: Vec<u8>,
    pub(super) dir: Handle,
    pub(super) name: Vec<u8>,
}

impl Place {
    /// The place for a tree's top, at a path below the root of the copy's mount.
    pub(super) async fn find(job: &Job, path: &[u8]) -> Result<Place, CopyError> {
        let (dir, name) = job.mount.walk_parent(path).await?;
        Ok(Place { path: name.to_vec(), dir: dir.handle, name: name.to_vec() })
    }

    /// Makes an empty regular file, or takes and empties the one that is there when that is allowed.
    pub(super) async fn create(&self, job: &Job) -> Result<Handle, CopyError> {
        let set = SetAttributes { mode: Some(PRIVATE), ..SetAttributes::default() };
        match job.mount.create(&self.dir, &self.name, CreateMode::Guarded, &set).await {
            Ok(made) => Ok(made.handle),
            Err(error) if error.status() == Some(Status::Exists) => self.take_existing(job).await,
            Err(error) => Err(error.about(&self.path).into()),
        }
    }

    async fn take_existing(&self, job: &Job) -> Result<Handle, CopyError> {
        let found = self.existing(job, FileKind::Regular).await?;
        let set = SetAttributes { size_bytes: Some(0), ..SetAttributes::default() };
        job.mount.setattr(&found.handle, &set).await.map_err(|error| error.about(&self.path))?;
        Ok(found.handle)
    }

    /// Removes what is in the way, when it is of the same kind and may be overwritten.
    pub(super) async fn make_way(&self, job: &Job, kind: FileKind) -> Result<(), CopyError> {
        if !job.options.overwrite {
            return Ok(());
        }
        match self.existing(job, kind).await {
            Ok(_) => Ok(job.mount.remove(&self.dir, &self.name).await?),
            Err(CopyError::Remote(error)) if error.status() == Some(Status::NoEntry) => Ok(()),
            Err(error) => Err(error),
        }
    }

    /// What is there under the name already, when it may be used.
    pub(super) async fn existing(&self, job: &Job, kind: FileKind) -> Result<Entry, CopyError> {
        if !job.options.overwrite {
            return Err(CopyError::Exists { path: self.path.clone() });
        }
        let found = job.mount.lookup(&self.dir, &self.name).await.map_err(|error| error.about(&self.path))?;
        match found.attributes.kind == kind {
            true => Ok(found),
            false => Err(CopyError::OtherKind { path: self.path.clone() }),
        }
    }

    /// Says that what was to be made is there already, if that is what the server says.
    pub(super) fn refuse_existing<T>(&self, made: crate::Result<T>) -> Result<T, CopyError> {
        made.map_err(|error| match error.status() {
            Some(Status::Exists) => CopyError::Exists { path: self.path.clone() },
            _ => error.about(&self.path).into(),
        })
    }
}
