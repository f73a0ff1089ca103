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
use super::{CopyError, Event, LocalError, MAX_DEPTH, MAX_UNFINISHED_DIRECTORIES, local, receive};
use crate::{Detail, Entry, Follow, Listing};

/// Something to copy, and where to.
struct Step {
    from: Entry,
    /// The path below the tree's top, for messages.
    path: Vec<u8>,
    to: PathBuf,
}

/// A directory whose entries are being copied.
struct Open<'j> {
    listing: Listing<'j>,
    path: Vec<u8>,
    to: PathBuf,
    attributes: Attributes,
}

struct Walk<'j> {
    job: &'j Arc<Job>,
    files: Files,
    links: Links<(u64, u64), PathBuf>,
    /// The directories from the top to the one that is being copied.
    open: Vec<Open<'j>>,
    /// Directories that get their modes and times when the files in them are copied too.
    unfinished: Vec<(PathBuf, Attributes)>,
}

pub(super) async fn run(job: &Arc<Job>, from: &[u8], to: &Path) -> Result<(), CopyError> {
    let top = job.mount.walk(from, Follow::Nothing).await?;
    let name = from.rsplit(|byte| *byte == b'/').find(|part| !part.is_empty()).unwrap_or(b".");
    let first = Step { from: top, path: name.to_vec(), to: to.to_owned() };
    let (files, links) = (Files::new(job), Links::new());
    let mut walk = Walk { job, files, links, open: Vec::new(), unfinished: Vec::new() };
    walk.copy(first).await?;
    while let Some(open) = walk.open.last_mut() {
        match open.next().await? {
            Some(step) => walk.copy(step).await?,
            None => walk.leave().await?,
        }
    }
    walk.finish().await
}

impl Open<'_> {
    async fn next(&mut self) -> Result<Option<Step>, CopyError> {
        while let Some(entry) = self.listing.next().await.map_err(|error| error.about(&self.path))? {
            // What is gone since the listing is not there to be copied.
            let Some(from) = entry.entry else { continue };
            let path = [&self.path[..], b"/", &entry.name].concat();
            return Ok(Some(Step { from, path, to: self.to.join(OsStr::from_bytes(&entry.name)) }));
        }
        Ok(None)
    }
}

impl Walk<'_> {
    async fn copy(&mut self, step: Step) -> Result<(), CopyError> {
        match step.from.attributes.kind {
            FileKind::Directory => self.directory(step).await,
            FileKind::Symlink => self.symlink(step).await,
            FileKind::Regular => self.file(step).await,
            _ => self.special(step).await,
        }
    }

    async fn directory(&mut self, step: Step) -> Result<(), CopyError> {
        if self.open.len() == MAX_DEPTH {
            return Err(CopyError::TooDeep { path: step.path, max: MAX_DEPTH });
        }
        self.make(&step, |path| std::fs::create_dir(path).map_err(LocalError::wrap(path, "make the directory")))
            .await?;
        let listing = self.job.mount.read_dir(&step.from.handle, Detail::Entries);
        let Step { from, path, to } = step;
        self.open.push(Open { listing, path, to, attributes: from.attributes });
        Ok(())
    }

    /// Goes on above the directory whose last entry has come.
    async fn leave(&mut self) -> Result<(), CopyError> {
        let Some(left) = self.open.pop() else { return Ok(()) };
        self.job.count().directories += 1;
        self.job.tell(Event::Finished { path: &left.path });
        self.unfinished.push((left.to, left.attributes));
        if self.unfinished.len() < MAX_UNFINISHED_DIRECTORIES { Ok(()) } else { self.finish().await }
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
            receive::receive(self.job, file).await?;
            self.links.remember(id, to, u64::from(attributes.links));
            return Ok(());
        }
        let job = Arc::clone(self.job);
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

    /// Sets what the directories that were left shall have at the end. Those below others were left first.
    async fn finish(&mut self) -> Result<(), CopyError> {
        self.files.wait().await?;
        for (path, attributes) in self.unfinished.drain(..) {
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
