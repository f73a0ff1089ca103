//! From this machine to the server: the walk through the tree.

use std::ffi::OsStr;
use std::fs::Metadata;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use vfs::{Attributes, FileKind, SetAttributes};

use super::job::{Files, Job};
use super::links::Links;
use super::place::Place;
use super::{CopyError, Event, LocalError, MAX_DEPTH, MAX_UNFINISHED_DIRECTORIES, local, send};
use crate::{Handle, Status};

/// The mode of a directory while its files are copied.
const OPEN_DIRECTORY: u32 = 0o700;

/// Something to copy, and where to.
struct Step {
    from: PathBuf,
    to: Place,
}

/// A directory whose entries are being copied.
struct Open {
    names: std::vec::IntoIter<Vec<u8>>,
    from: PathBuf,
    path: Vec<u8>,
    made: Handle,
    attributes: Attributes,
}

struct Walk<'j> {
    job: &'j Arc<Job>,
    files: Files,
    links: Links<(u64, u64), Handle>,
    /// The directories from the top to the one that is being copied.
    open: Vec<Open>,
    /// Directories that get their modes and times when the files in them are copied too.
    unfinished: Vec<(Handle, Attributes)>,
}

pub(super) async fn run(job: &Arc<Job>, from: &Path, to: &[u8]) -> Result<(), CopyError> {
    let (dir, name) = job.mount.walk_parent(to).await?;
    let to = Place { path: name.to_vec(), dir: dir.handle, name: name.to_vec() };
    let first = Step { from: from.to_owned(), to };
    let (files, links) = (Files::new(job), Links::new());
    let mut walk = Walk { job, files, links, open: Vec::new(), unfinished: Vec::new() };
    walk.copy(first).await?;
    while let Some(open) = walk.open.last_mut() {
        match open.next() {
            Some(step) => walk.copy(step).await?,
            None => walk.leave().await?,
        }
    }
    walk.finish().await
}

impl Open {
    fn next(&mut self) -> Option<Step> {
        let name = self.names.next()?;
        let path = [&self.path[..], b"/", &name].concat();
        let from = self.from.join(OsStr::from_bytes(&name));
        Some(Step { from, to: Place { path, dir: self.made, name } })
    }
}

impl Walk<'_> {
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
        if self.open.len() == MAX_DEPTH {
            return Err(CopyError::TooDeep { path: step.to.path, max: MAX_DEPTH });
        }
        let set = SetAttributes { mode: Some(OPEN_DIRECTORY), ..SetAttributes::default() };
        let made = match self.job.mount.mkdir(&step.to.dir, &step.to.name, &set).await {
            Err(error) if error.status() == Some(Status::Exists) => {
                step.to.existing(self.job, FileKind::Directory).await?.handle
            }
            made => made.map_err(|error| error.about(&step.to.path))?.handle,
        };
        let from = step.from.clone();
        let names = local::blocking(move || local::names(&from)).await?.into_iter();
        self.open.push(Open { names, from: step.from, path: step.to.path, made, attributes });
        Ok(())
    }

    /// Goes on above the directory whose last entry has come.
    async fn leave(&mut self) -> Result<(), CopyError> {
        let Some(left) = self.open.pop() else { return Ok(()) };
        self.job.count().directories += 1;
        self.job.tell(Event::Finished { path: &left.path });
        self.unfinished.push((left.made, left.attributes));
        if self.unfinished.len() < MAX_UNFINISHED_DIRECTORIES { Ok(()) } else { self.finish().await }
    }

    async fn symlink(&mut self, step: Step, attributes: &Attributes) -> Result<(), CopyError> {
        let from = step.from.clone();
        let target = local::blocking(move || {
            std::fs::read_link(&from).map_err(LocalError::wrap(&from, "read the symbolic link"))
        })
        .await?;
        step.to.make_way(self.job, FileKind::Symlink).await?;
        let (mount, none) = (&self.job.mount, SetAttributes::default());
        let made = mount.symlink(&step.to.dir, &step.to.name, target.as_os_str().as_bytes(), &none).await;
        let made = step.to.refuse_existing(made)?;
        let set = SetAttributes { mode: None, ..self.job.final_attributes(attributes) };
        if !set.is_empty() {
            // Not every server can set the times of a symbolic link, and nothing depends on them.
            let _ = mount.setattr(&made.handle, &set).await;
        }
        self.job.count().symlinks += 1;
        self.job.tell(Event::Finished { path: &step.to.path });
        Ok(())
    }

    async fn special(&mut self, step: Step, attributes: &Attributes) -> Result<(), CopyError> {
        let Some(node) = local::special(attributes) else { return Ok(()) };
        step.to.make_way(self.job, attributes.kind).await?;
        let set = SetAttributes { mode: Some(attributes.mode), ..SetAttributes::default() };
        let made = self.job.mount.mknod(&step.to.dir, &step.to.name, node, &set).await;
        let made = step.to.refuse_existing(made)?;
        let set = self.job.final_attributes(attributes);
        self.job.mount.setattr(&made.handle, &set).await.map_err(|error| error.about(&step.to.path))?;
        self.job.count().special_files += 1;
        self.job.tell(Event::Finished { path: &step.to.path });
        Ok(())
    }

    async fn file(&mut self, step: Step, attributes: Attributes) -> Result<(), CopyError> {
        let id = (attributes.fsid, attributes.fileid);
        let keeps_links = attributes.links > 1 && self.job.mount.info().has_hard_links;
        if keeps_links && let Some(copy) = self.links.find(&id) {
            return self.link(&step, &copy).await;
        }
        self.job.tell(Event::Found { path: &step.to.path, bytes: attributes.size_bytes });
        let file = send::Sending { from: step.from, to: step.to, attributes };
        if keeps_links {
            // The further names need the handle: such files are copied one after the other.
            let names = u64::from(file.attributes.links);
            let copy = send::send(self.job, file).await?;
            self.links.remember(id, copy, names);
            return Ok(());
        }
        let job = Arc::clone(self.job);
        self.files.spawn(async move { send::send(&job, file).await.map(drop) }).await
    }

    async fn link(&self, step: &Step, copy: &Handle) -> Result<(), CopyError> {
        step.to.make_way(self.job, FileKind::Regular).await?;
        let made = self.job.mount.link(copy, &step.to.dir, &step.to.name).await;
        step.to.refuse_existing(made)?;
        self.job.count().hard_links += 1;
        self.job.tell(Event::Finished { path: &step.to.path });
        Ok(())
    }

    /// Sets what the directories that were left shall have at the end.
    async fn finish(&mut self) -> Result<(), CopyError> {
        self.files.wait().await?;
        for (handle, attributes) in self.unfinished.drain(..) {
            self.job.mount.setattr(&handle, &self.job.final_attributes(&attributes)).await?;
        }
        Ok(())
    }
}

fn inspect(path: &Path) -> Result<Metadata, LocalError> {
    std::fs::symlink_metadata(path).map_err(LocalError::wrap(path, "look at"))
}
