//! From this machine to the server: the walk through the tree.

use std::ffi::OsStr;
use std::fs::Metadata;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use vfs::{Attributes, FileKind, SetAttributes};

use super::job::{Files, Job};
use super::links::Links;
use super::{CopyError, Event, LocalError, local, send};
use crate::{Entry, Handle, Status};

/// The mode of a directory while its files are copied.
const OPEN_DIRECTORY: u32 = 0o700;

/// Something to copy, and where to.
struct Step {
    from: PathBuf,
    /// The path below the tree's top, for messages.
    path: Vec<u8>,
    dir: Handle,
    name: Vec<u8>,
}

struct Walk {
    job: Arc<Job>,
    files: Files,
    links: Links<(u64, u64), Handle>,
    steps: Vec<Step>,
    /// Directories get their modes and times when nothing is made in them any more.
    directories: Vec<(Handle, Attributes)>,
}

pub(super) async fn run(job: &Arc<Job>, from: &Path, to: &[u8]) -> Result<(), CopyError> {
    let (dir, name) = job.mount.walk_parent(to).await?;
    let first = Step { from: from.to_owned(), path: name.to_vec(), dir: dir.handle, name: name.to_vec() };
    let (files, links) = (Files::new(job), Links::new());
    let mut walk = Walk { job: Arc::clone(job), files, links, steps: vec![first], directories: Vec::new() };
    while let Some(step) = walk.steps.pop() {
        walk.copy(step).await?;
    }
    walk.finish().await
}

impl Walk {
    async fn copy(&mut self, step: Step) -> Result<(), CopyError> {
        let from = step.from.clone();
        let metadata = local::blocking(move || inspect(&from)).await?;
        let attributes = local::attributes(&metadata);
        match attributes.kind {
            FileKind::Directory => self.directory(step, attributes).await,
            FileKind::Symlink => self.symlink(step, &attributes).await,
            FileKind::Regular => self.file(step, attributes).await,
            _ => self.special(step, &attributes).await,
        }
    }

    async fn directory(&mut self, step: Step, attributes: Attributes) -> Result<(), CopyError> {
        let set = SetAttributes { mode: Some(OPEN_DIRECTORY), ..SetAttributes::default() };
        let made = match self.job.mount.mkdir(&step.dir, &step.name, &set).await {
            Err(error) if error.status() == Some(Status::Exists) => {
                self.existing(&step, FileKind::Directory).await?.handle
            }
            made => made.map_err(|error| error.about(&step.path))?.handle,
        };
        let from = step.from.clone();
        for name in local::blocking(move || local::names(&from)).await? {
            let path = [&step.path[..], b"/", &name].concat();
            self.steps.push(Step { from: step.from.join(OsStr::from_bytes(&name)), path, dir: made, name });
        }
        self.directories.push((made, attributes));
        self.job.count().directories += 1;
        self.job.tell(Event::Finished { path: &step.path });
        Ok(())
    }

    async fn symlink(&mut self, step: Step, attributes: &Attributes) -> Result<(), CopyError> {
        let from = step.from.clone();
        let target = local::blocking(move || {
            std::fs::read_link(&from).map_err(LocalError::wrap(&from, "read the symbolic link"))
        })
        .await?;
        self.make_way(&step, FileKind::Symlink).await?;
        let (mount, none) = (&self.job.mount, SetAttributes::default());
        let made = mount.symlink(&step.dir, &step.name, target.as_os_str().as_bytes(), &none).await;
        let made = self.refuse_existing(made, &step)?;
        let set = SetAttributes { mode: None, ..self.job.final_attributes(attributes) };
        if !set.is_empty() {
            // Not every server can set the times of a symbolic link, and nothing depends on them.
            let _ = mount.setattr(&made.handle, &set).await;
        }
        self.job.count().symlinks += 1;
        self.job.tell(Event::Finished { path: &step.path });
        Ok(())
    }

    async fn special(&mut self, step: Step, attributes: &Attributes) -> Result<(), CopyError> {
        let Some(node) = local::special(attributes) else { return Ok(()) };
        self.make_way(&step, attributes.kind).await?;
        let set = SetAttributes { mode: Some(attributes.mode), ..SetAttributes::default() };
        let made = self.job.mount.mknod(&step.dir, &step.name, node, &set).await;
        let made = self.refuse_existing(made, &step)?;
        let set = self.job.final_attributes(attributes);
        self.job.mount.setattr(&made.handle, &set).await.map_err(|error| error.about(&step.path))?;
        self.job.count().special_files += 1;
        self.job.tell(Event::Finished { path: &step.path });
        Ok(())
    }

    async fn file(&mut self, step: Step, attributes: Attributes) -> Result<(), CopyError> {
        let id = (attributes.fsid, attributes.fileid);
        let keeps_links = attributes.links > 1 && self.job.mount.info().has_hard_links;
        if keeps_links && let Some(copy) = self.links.find(&id) {
            return self.link(&step, &copy).await;
        }
        self.job.tell(Event::Found { path: &step.path, bytes: attributes.size_bytes });
        let file = send::Sending { from: step.from, path: step.path, dir: step.dir, name: step.name, attributes };
        if keeps_links {
            // The further names need the handle: such files are copied one after the other.
            let names = u64::from(file.attributes.links);
            let copy = send::send(&self.job, file).await?;
            self.links.remember(id, copy, names);
            return Ok(());
        }
        let job = Arc::clone(&self.job);
        self.files.spawn(async move { send::send(&job, file).await.map(drop) }).await
    }

    async fn link(&self, step: &Step, copy: &Handle) -> Result<(), CopyError> {
        self.make_way(step, FileKind::Regular).await?;
        let made = self.job.mount.link(copy, &step.dir, &step.name).await;
        self.refuse_existing(made, step)?;
        self.job.count().hard_links += 1;
        self.job.tell(Event::Finished { path: &step.path });
        Ok(())
    }

    /// Removes what is in the way, when it is of the same kind and may be overwritten.
    async fn make_way(&self, step: &Step, kind: FileKind) -> Result<(), CopyError> {
        if !self.job.options.overwrite {
            return Ok(());
        }
        match self.existing(step, kind).await {
            Ok(_) => Ok(self.job.mount.remove(&step.dir, &step.name).await?),
            Err(CopyError::Remote(error)) if error.status() == Some(Status::NoEntry) => Ok(()),
            Err(error) => Err(error),
        }
    }

    /// What is there under the name already, when it may be used.
    async fn existing(&self, step: &Step, kind: FileKind) -> Result<Entry, CopyError> {
        if !self.job.options.overwrite {
            return Err(CopyError::Exists { path: step.path.clone() });
        }
        let found = self.job.mount.lookup(&step.dir, &step.name).await?;
        match found.attributes.kind == kind {
            true => Ok(found),
            false => Err(CopyError::OtherKind { path: step.path.clone() }),
        }
    }

    fn refuse_existing<T>(&self, made: crate::Result<T>, step: &Step) -> Result<T, CopyError> {
        made.map_err(|error| match error.status() {
            Some(Status::Exists) => CopyError::Exists { path: step.path.clone() },
            _ => error.about(&step.path).into(),
        })
    }

    async fn finish(self) -> Result<(), CopyError> {
        self.files.finish().await?;
        for (handle, attributes) in self.directories.iter().rev() {
            self.job.mount.setattr(handle, &self.job.final_attributes(attributes)).await?;
        }
        Ok(())
    }
}

fn inspect(path: &Path) -> Result<Metadata, LocalError> {
    std::fs::symlink_metadata(path).map_err(LocalError::wrap(path, "look at"))
}
