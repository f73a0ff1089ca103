//! From a server to a server: the walk through the tree.

use std::sync::Arc;

use vfs::{Attributes, FileKind, SetAttributes};

use super::job::{Files, Job};
use super::links::Links;
use super::place::Place;
use super::{CopyError, Event, MAX_DEPTH, MAX_UNFINISHED_DIRECTORIES, local, relay};
use crate::{Detail, Entry, Follow, Handle, Listing, Mount, Status};

/// The mode of a directory while its files are copied.
const OPEN_DIRECTORY: u32 = 0o700;

/// A file of a server.
type Id = (u64, u64);

/// Something to copy, and where to.
struct Step {
    from: Entry,
    to: Place,
}

/// A directory whose entries are being copied.
struct Open<'j> {
    listing: Listing<'j>,
    path: Vec<u8>,
    made: Handle,
    attributes: Attributes,
}

struct Walk<'j> {
    job: &'j Arc<Job>,
    source: &'j Mount,
    /// Whether both mounts are of one server, so that a file may be its own copy.
    is_one_server: bool,
    files: Files,
    links: Links<Id, Handle>,
    /// The copy's top, when that is a directory.
    top: Option<Id>,
    /// The directories from the top to the one that is being copied.
    open: Vec<Open<'j>>,
    /// Directories that get their modes and times when the files in them are copied too.
    unfinished: Vec<(Handle, Attributes)>,
}

pub(super) async fn run(job: &Arc<Job>, (source, from): (&Mount, &[u8]), to: &[u8]) -> Result<(), CopyError> {
    let from = source.walk(from, Follow::Nothing).await?;
    let (dir, name) = job.mount.walk_parent(to).await?;
    let to = Place { path: name.to_vec(), dir: dir.handle, name: name.to_vec() };
    let is_one_server = source.connection().address().ip() == job.mount.connection().address().ip();
    let (files, links) = (Files::new(job), Links::new());
    let (open, unfinished) = (Vec::new(), Vec::new());
    let mut walk = Walk { job, source, is_one_server, files, links, top: None, open, unfinished };
    walk.copy(Step { from, to }).await?;
    while let Some(open) = walk.open.last_mut() {
        match open.next().await? {
            Some(step) => walk.copy(step).await?,
            None => walk.leave().await?,
        }
    }
    walk.finish().await
}

fn id(attributes: &Attributes) -> Id {
    (attributes.fsid, attributes.fileid)
}

impl Open<'_> {
    async fn next(&mut self) -> Result<Option<Step>, CopyError> {
        while let Some(entry) = self.listing.next().await.map_err(|error| error.about(&self.path))? {
            // What is gone since the listing is not there to be copied.
            let Some(from) = entry.entry else { continue };
            let path = [&self.path[..], b"/", &entry.name].concat();
            return Ok(Some(Step { from, to: Place { path, dir: self.made, name: entry.name.into() } }));
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

    async fn directory(&mut self, Step { from, to }: Step) -> Result<(), CopyError> {
        if self.is_one_server && self.top == Some(id(&from.attributes)) {
            return Err(CopyError::IntoItself { path: to.path });
        }
        if self.open.len() == MAX_DEPTH {
            return Err(CopyError::TooDeep { path: to.path, max: MAX_DEPTH });
        }
        let set = SetAttributes { mode: Some(OPEN_DIRECTORY), ..SetAttributes::default() };
        let made = match self.job.mount.mkdir(&to.dir, &to.name, &set).await {
            Err(error) if error.status() == Some(Status::Exists) => to.existing(self.job, FileKind::Directory).await?,
            made => made.map_err(|error| error.about(&to.path))?,
        };
        self.top = self.top.or(Some(id(&made.attributes)));
        let listing = self.source.read_dir(&from.handle, Detail::Entries);
        self.open.push(Open { listing, path: to.path, made: made.handle, attributes: from.attributes });
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

    async fn symlink(&mut self, Step { from, to }: Step) -> Result<(), CopyError> {
        let target = self.source.readlink(&from.handle).await.map_err(|error| error.about(&to.path))?;
        to.make_way(self.job, FileKind::Symlink).await?;
        let made = self.job.mount.symlink(&to.dir, &to.name, &target, &SetAttributes::default()).await;
        let made = to.refuse_existing(made)?;
        let set = SetAttributes { mode: None, ..self.job.final_attributes(&from.attributes) };
        if !set.is_empty() {
            // Not every server can set the times of a symbolic link, and nothing depends on them.
            let _ = self.job.mount.setattr(&made.handle, &set).await;
        }
        self.job.count().symlinks += 1;
        self.job.tell(Event::Finished { path: &to.path });
        Ok(())
    }

    async fn special(&mut self, Step { from, to }: Step) -> Result<(), CopyError> {
        let Some(node) = local::special(&from.attributes) else { return Ok(()) };
        to.make_way(self.job, from.attributes.kind).await?;
        let set = SetAttributes { mode: Some(from.attributes.mode), ..SetAttributes::default() };
        let made = to.refuse_existing(self.job.mount.mknod(&to.dir, &to.name, node, &set).await)?;
        let set = self.job.final_attributes(&from.attributes);
        self.job.mount.setattr(&made.handle, &set).await.map_err(|error| error.about(&to.path))?;
        self.job.count().special_files += 1;
        self.job.tell(Event::Finished { path: &to.path });
        Ok(())
    }

    async fn file(&mut self, Step { from, to }: Step) -> Result<(), CopyError> {
        let attributes = from.attributes;
        let keeps_links = attributes.links > 1 && self.job.mount.info().has_hard_links;
        if keeps_links && let Some(copy) = self.links.find(&id(&attributes)) {
            return self.link(&to, &copy).await;
        }
        self.refuse_itself(&attributes, &to).await?;
        self.job.tell(Event::Found { path: &to.path, bytes: attributes.size_bytes });
        let file = relay::Relaying { source: self.source.clone(), from, to };
        if keeps_links {
            // The further names need the handle: such files are copied one after the other.
            let copy = relay::relay(self.job, file).await?;
            self.links.remember(id(&attributes), copy, u64::from(attributes.links));
            return Ok(());
        }
        let job = Arc::clone(self.job);
        self.files.spawn(async move { relay::relay(&job, file).await.map(drop) }).await
    }

    /// Sees to it that a file is not emptied to be filled with itself.
    async fn refuse_itself(&self, attributes: &Attributes, to: &Place) -> Result<(), CopyError> {
        if !self.is_one_server || !self.job.options.overwrite {
            return Ok(());
        }
        match self.job.mount.lookup(&to.dir, &to.name).await {
            Ok(found) if id(&found.attributes) == id(attributes) => Err(CopyError::Itself { path: to.path.clone() }),
            Err(error) if error.status().is_none() => Err(error.about(&to.path).into()),
            _ => Ok(()),
        }
    }

    async fn link(&self, to: &Place, copy: &Handle) -> Result<(), CopyError> {
        to.make_way(self.job, FileKind::Regular).await?;
        to.refuse_existing(self.job.mount.link(copy, &to.dir, &to.name).await)?;
        self.job.count().hard_links += 1;
        self.job.tell(Event::Finished { path: &to.path });
        Ok(())
    }

    /// Sets what the directories that were left shall have at the end. Those below others were left first.
    async fn finish(&mut self) -> Result<(), CopyError> {
        self.files.wait().await?;
        for (handle, attributes) in self.unfinished.drain(..) {
            self.job.mount.setattr(&handle, &self.job.final_attributes(&attributes)).await?;
        }
        Ok(())
    }
}
