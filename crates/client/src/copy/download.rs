//! From the server to this machine: the walk through the tree.
//!
//! A server's names are names and nothing else, and nothing here follows a symbolic link that was there or was just made:
//! no server can have a file written outside of the target.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use vfs::{Attributes, FileKind};

use super::job::{Files, Job};
use super::links::Links;
use super::{CopyError, Event, LocalError, local, receive};
use crate::{Detail, Entry, Follow};

/// Something to copy, and where to.
struct Step {
    from: Entry,
    /// The path below the tree's top, for messages.
    path: Vec<u8>,
    to: PathBuf,
}

struct Walk {
    job: Arc<Job>,
    files: Files,
    links: Links<(u64, u64), PathBuf>,
    steps: Vec<Step>,
    /// Directories get their modes and times when nothing is made in them any more.
    directories: Vec<(PathBuf, Attributes)>,
}

pub(super) async fn run(job: &Arc<Job>, from: &[u8], to: &Path) -> Result<(), CopyError> {
    let top = job.mount.walk(from, Follow::Nothing).await?;
    let name = from.rsplit(|byte| *byte == b'/').find(|part| !part.is_empty()).unwrap_or(b".");
    let first = Step { from: top, path: name.to_vec(), to: to.to_owned() };
    let (files, links) = (Files::new(job), Links::new());
    let mut walk = Walk { job: Arc::clone(job), files, links, steps: vec![first], directories: Vec::new() };
    while let Some(step) = walk.steps.pop() {
        match step.from.attributes.kind {
            FileKind::Directory => walk.directory(step).await?,
            FileKind::Symlink => walk.symlink(step).await?,
            FileKind::Regular => walk.file(step).await?,
            _ => walk.special(step).await?,
        }
    }
    walk.finish().await
}

impl Walk {
    async fn directory(&mut self, step: Step) -> Result<(), CopyError> {
        self.make(&step, |path| std::fs::create_dir(path).map_err(LocalError::wrap(path, "make the directory")))
            .await?;
        let mut listing = self.job.mount.read_dir(&step.from.handle, Detail::Entries);
        while let Some(page) = listing.next_page().await.map_err(|error| error.about(&step.path))? {
            for entry in page {
                // What is gone since the listing is not there to be copied.
                let Some(found) = entry.entry else { continue };
                let path = [&step.path[..], b"/", &entry.name].concat();
                let to = step.to.join(OsStr::from_bytes(&entry.name));
                self.steps.push(Step { from: found, path, to });
            }
        }
        self.directories.push((step.to, step.from.attributes));
        self.job.count().directories += 1;
        self.job.tell(Event::Finished { path: &step.path });
        Ok(())
    }

    async fn symlink(&mut self, step: Step) -> Result<(), CopyError> {
        let target = self.job.mount.readlink(&step.from.handle).await.map_err(|error| error.about(&step.path))?;
        let set = self.job.final_attributes(&step.from.attributes);
        self.make(&step, move |path| {
            let target = OsStr::from_bytes(&target);
            std::os::unix::fs::symlink(target, path).map_err(LocalError::wrap(path, "make the symbolic link"))?;
            local::set(path, &set, true)
        })
        .await?;
        self.job.count().symlinks += 1;
        self.job.tell(Event::Finished { path: &step.path });
        Ok(())
    }

    async fn special(&mut self, step: Step) -> Result<(), CopyError> {
        let Some(node) = local::special(&step.from.attributes) else { return Ok(()) };
        let set = self.job.final_attributes(&step.from.attributes);
        let mode = step.from.attributes.mode;
        self.make(&step, move |path| {
            local::make_special(path, node, mode)?;
            local::set(path, &set, false)
        })
        .await?;
        self.job.count().special_files += 1;
        self.job.tell(Event::Finished { path: &step.path });
        Ok(())
    }

    async fn file(&mut self, step: Step) -> Result<(), CopyError> {
        let attributes = step.from.attributes;
        let id = (attributes.fsid, attributes.fileid);
        if attributes.links > 1
            && let Some(copy) = self.links.find(&id)
        {
            return self.link(&step, copy).await;
        }
        self.job.tell(Event::Found { path: &step.path, bytes: attributes.size_bytes });
        self.make_way(&step).await?;
        let (from, path, to) = (step.from, step.path, step.to);
        let file = receive::Receiving { from, path, to: to.clone() };
        if attributes.links > 1 {
            // The further names need the copy: such files are copied one after the other.
            receive::receive(&self.job, file).await?;
            self.links.remember(id, to, u64::from(attributes.links));
            return Ok(());
        }
        let job = Arc::clone(&self.job);
        self.files.spawn(async move { receive::receive(&job, file).await }).await
    }

    async fn link(&self, step: &Step, copy: PathBuf) -> Result<(), CopyError> {
        self.make(step, move |path| std::fs::hard_link(copy, path).map_err(LocalError::wrap(path, "link"))).await?;
        self.job.count().hard_links += 1;
        self.job.tell(Event::Finished { path: &step.path });
        Ok(())
    }

    /// Makes something that is no regular file, in the place of what is there when that may be overwritten.
    async fn make<F>(&self, step: &Step, make: F) -> Result<(), CopyError>
    where
        F: FnOnce(&Path) -> Result<(), LocalError> + Send + 'static,
    {
        if self.make_way(step).await? == Way::Taken && step.from.attributes.kind == FileKind::Directory {
            return Ok(());
        }
        let to = step.to.clone();
        local::blocking(move || make(&to)).await
    }

    /// Sees to it that nothing is in the way: an error, unless it is of the same kind and may be overwritten. Regular
    /// files and directories are used as they are; everything else is removed first.
    async fn make_way(&self, step: &Step) -> Result<Way, CopyError> {
        let to = step.to.clone();
        let found = local::blocking(move || match std::fs::symlink_metadata(&to) {
            Ok(metadata) => Ok(Some(local::attributes(&metadata).kind)),
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(LocalError::wrap(&to, "look at")(error)),
        });
        let path = || step.to.as_os_str().as_bytes().to_vec();
        match found.await? {
            None => Ok(Way::Free),
            Some(_) if !self.job.options.overwrite => Err(CopyError::Exists { path: path() }),
            Some(kind) if kind != step.from.attributes.kind => Err(CopyError::OtherKind { path: path() }),
            Some(FileKind::Directory) => Ok(Way::Taken),
            Some(_) => {
                let to = step.to.clone();
                local::blocking(move || std::fs::remove_file(&to).map_err(LocalError::wrap(&to, "remove"))).await?;
                Ok(Way::Free)
            }
        }
    }

    async fn finish(self) -> Result<(), CopyError> {
        self.files.finish().await?;
        for (path, attributes) in self.directories.into_iter().rev() {
            let set = self.job.final_attributes(&attributes);
            local::blocking(move || local::set(&path, &set, false)).await?;
        }
        Ok(())
    }
}

/// What is where something shall be made.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Way {
    Free,
    /// A directory that may be used.
    Taken,
}
