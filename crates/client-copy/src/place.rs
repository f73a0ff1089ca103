//! The place for a copy on a server, and a file that may exist there.

use std::sync::Arc;

use client_files::{Entry, Handle, Mount, Status};
use vfs::{Attributes, CreateMode, FileKind, SetAttributes};

use super::content::Content;
use super::error::CopyError;
use super::job::Job;
use super::options::Event;
use super::resume::{self, Pair, Readable};

/// The mode of a file while it is written.
const PRIVATE: u32 = 0o600;

/// The target of a copy.
#[derive(Debug)]
pub(super) struct Place {
    /// The path below the tree's top, for messages.
    pub(super) path: Vec<u8>,
    pub(super) dir: Handle,
    pub(super) name: Vec<u8>,
}

impl Place {
    /// The place for a tree's top, at a path below the root of the copy's mount. The root itself has no name.
    pub(super) async fn find(job: &Job, path: &[u8]) -> Result<Place, CopyError> {
        if path.iter().all(|byte| *byte == b'/') {
            return Ok(Place { path: b".".to_vec(), dir: job.mount.root().handle, name: Vec::new() });
        }
        let (dir, name) = job.mount.walk_parent(path).await?;
        Ok(Place { path: name.to_vec(), dir: dir.handle, name: name.to_vec() })
    }

    /// Whether this is the root of the mount, which exists.
    pub(super) fn is_root(&self) -> bool {
        self.name.is_empty()
    }

    /// The file that has the name.
    pub(super) async fn look(&self, mount: &Mount) -> client_files::Result<Entry> {
        match self.is_root() {
            true => Ok(Entry { handle: self.dir, attributes: mount.getattr(&self.dir).await? }),
            false => mount.lookup(&self.dir, &self.name).await,
        }
    }

    /// Makes an empty regular file, or takes an existing one if allowed and returns its attributes.
    async fn create(&self, job: &Job) -> Result<(Handle, Option<Attributes>), CopyError> {
        let set = SetAttributes { mode: Some(PRIVATE), ..SetAttributes::default() };
        let made = match job.mount.create(&self.dir, &self.name, CreateMode::Guarded, &set).await {
            Ok(made) => (made.handle, None),
            Err(error) if error.status() == Some(Status::Exists) => {
                let found = self.existing(job, FileKind::Regular).await?;
                (found.handle, Some(found.attributes))
            }
            Err(error) => return Err(error.about(&self.path).into()),
        };
        job.tell(Event::Begun { path: &self.path });
        Ok(made)
    }

    /// The file to copy to, and how many of its first bytes an earlier copy left there. The file is truncated to these.
    /// `original` is there if its bytes may be compared with those of its copy.
    pub(super) async fn open(
        &self,
        job: &Arc<Job>,
        original: Option<Readable<'_>>,
    ) -> Result<(Handle, u64), CopyError> {
        let (target, left) = self.create(job).await?;
        let Some(left) = left else { return Ok((target, 0)) };
        let good = match original.filter(|_| job.options.resume) {
            Some(original) => self.good_bytes(job, original, &target, &left).await?,
            None => 0,
        };
        let set = SetAttributes { size_bytes: Some(good), ..SetAttributes::default() };
        job.mount.setattr(&target, &set).await.map_err(|error| error.about(&self.path))?;
        Ok((target, good))
    }

    async fn good_bytes(
        &self,
        job: &Arc<Job>,
        original: Readable<'_>,
        target: &Handle,
        left: &Attributes,
    ) -> Result<u64, CopyError> {
        // The compared data must be on stable storage; its writer may have ended before a COMMIT (RFC 1813 §3.3.21).
        job.mount.commit(target, 0, 0).await.map_err(|error| error.about(&self.path))?;
        let content = Content::There(job.mount.clone(), *target);
        let copy = Readable { content: &content, attributes: left };
        resume::good_bytes(job, &self.path, Pair { original, copy }).await
    }

    /// Sets the attributes for resuming on a file. Returns why the copy ends.
    pub(super) async fn leave(&self, job: &Job, file: &Handle, checkpoint: Option<SetAttributes>) -> CopyError {
        let Some(set) = checkpoint else { return CopyError::Stopped };
        match job.mount.setattr(file, &set).await {
            Ok(_) => CopyError::Stopped,
            Err(error) => error.about(&self.path).into(),
        }
    }

    /// Removes an existing file of the same kind if it may be overwritten.
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

    /// The existing file of that name, if it may be overwritten.
    pub(super) async fn existing(&self, job: &Job, kind: FileKind) -> Result<Entry, CopyError> {
        if !job.options.overwrite {
            return Err(CopyError::Exists { path: self.path.clone() });
        }
        let found = self.look(&job.mount).await.map_err(|error| error.about(&self.path))?;
        match found.attributes.kind == kind {
            true => Ok(found),
            false => Err(CopyError::OtherKind { path: self.path.clone() }),
        }
    }

    /// Turns the server's `Status::Exists` into [`CopyError::Exists`].
    pub(super) fn refuse_existing<T>(&self, made: client_files::Result<T>) -> Result<T, CopyError> {
        made.map_err(|error| match error.status() {
            Some(Status::Exists) => CopyError::Exists { path: self.path.clone() },
            _ => error.about(&self.path).into(),
        })
    }
}
