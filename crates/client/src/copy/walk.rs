//! The walk through a tree, wherever it is and wherever it is copied to: depth first, directories before what is in them, and
//! their modes and times after it.

use std::sync::Arc;

use vfs::{Attributes, FileKind};

use super::job::{Files, Job};
use super::links::Links;
use super::sides::{Entries, File, Made, Origin, Place, Route, Target};
use super::{CopyError, Event, MAX_DEPTH, MAX_UNFINISHED_DIRECTORIES, local, xattrs};

/// A file of a server or of this machine: its file system, and its number there.
type Id = (u64, u64);

fn id(attributes: &Attributes) -> Id {
    (attributes.fsid, attributes.fileid)
}

/// Something to copy, and where to.
pub(super) struct Step<R: Route> {
    pub(super) from: File<R>,
    /// The path below the tree's top, for messages.
    pub(super) path: Vec<u8>,
    pub(super) to: Place<R>,
}

/// A directory whose entries are being copied.
struct Open<'w, R: Route> {
    listing: <R::Origin as Origin>::Listing<'w>,
    path: Vec<u8>,
    made: Made<R>,
    attributes: Attributes,
}

/// A directory whose entries are copied, or being copied.
struct Unfinished<R: Route> {
    path: Vec<u8>,
    made: Made<R>,
    attributes: Attributes,
}

struct Walk<'w, R: Route> {
    job: &'w Arc<Job>,
    route: &'w R,
    files: Files,
    links: Links<Id, Made<R>>,
    /// The copy's top, when that is a directory.
    top: Option<Id>,
    /// The directories from the top to the one that is being copied.
    open: Vec<Open<'w, R>>,
    /// Directories that get their modes and times when the files in them are copied too.
    unfinished: Vec<Unfinished<R>>,
}

/// Copies the tree whose top is `first`.
pub(super) async fn walk<R: Route>(job: &Arc<Job>, route: &R, first: Step<R>) -> Result<(), CopyError> {
    let (files, links) = (Files::new(job), Links::new());
    let mut walk = Walk { job, route, files, links, top: None, open: Vec::new(), unfinished: Vec::new() };
    walk.copy(first).await?;
    while let Some(open) = walk.open.last_mut() {
        match open.next().await? {
            Some(step) => walk.copy(step).await?,
            None => walk.leave().await?,
        }
    }
    walk.finish().await
}

impl<R: Route> Open<'_, R> {
    async fn next(&mut self) -> Result<Option<Step<R>>, CopyError> {
        let Some((name, from)) = self.listing.next(&self.path).await? else { return Ok(None) };
        let path = [&self.path[..], b"/", &name].concat();
        let to = R::Target::place(&self.made, &path, &name);
        Ok(Some(Step { from, path, to }))
    }
}

impl<R: Route> Walk<'_, R> {
    async fn copy(&mut self, step: Step<R>) -> Result<(), CopyError> {
        let attributes = *R::Origin::attributes(&step.from);
        match attributes.kind {
            FileKind::Directory => self.directory(step, attributes).await,
            FileKind::Symlink => self.symlink(&step, &attributes).await,
            FileKind::Regular => self.file(step, &attributes).await,
            _ => self.special(&step, &attributes).await,
        }
    }

    async fn directory(&mut self, step: Step<R>, attributes: Attributes) -> Result<(), CopyError> {
        if self.route.is_one_server() && self.top == Some(id(&attributes)) {
            return Err(CopyError::IntoItself { path: step.path });
        }
        if self.open.len() == MAX_DEPTH {
            return Err(CopyError::TooDeep { path: step.path, max: MAX_DEPTH });
        }
        let (made, of_made) = self.route.target().make_directory(self.job, &step.to).await?;
        self.top = self.top.or(Some(id(&of_made)));
        let (origin, target) = (self.route.origin(), self.route.target());
        let original = (origin, R::Origin::holder(&step.from));
        xattrs::keep(self.job, &step.path, original, (target, &made)).await?;
        let listing = origin.list(&step.from).await?;
        self.open.push(Open { listing, path: step.path, made, attributes });
        Ok(())
    }

    /// Goes on above the directory whose last entry has come.
    async fn leave(&mut self) -> Result<(), CopyError> {
        let Some(left) = self.open.pop() else { return Ok(()) };
        self.job.finished(&left.path, |summary| summary.directories += 1);
        let Open { path, made, attributes, .. } = left;
        self.unfinished.push(Unfinished { path, made, attributes });
        if self.unfinished.len() < MAX_UNFINISHED_DIRECTORIES { Ok(()) } else { self.finish().await }
    }

    async fn symlink(&self, step: &Step<R>, attributes: &Attributes) -> Result<(), CopyError> {
        let target = self.route.origin().readlink(&step.from, &step.path).await?;
        self.route.target().make_symlink(self.job, &step.to, (target, attributes)).await?;
        self.job.finished(&step.path, |summary| summary.symlinks += 1);
        Ok(())
    }

    async fn special(&self, step: &Step<R>, attributes: &Attributes) -> Result<(), CopyError> {
        let Some(node) = local::special(attributes) else { return Ok(()) };
        self.route.target().make_special(self.job, &step.to, (node, attributes)).await?;
        self.job.finished(&step.path, |summary| summary.special_files += 1);
        Ok(())
    }

    async fn file(&mut self, step: Step<R>, attributes: &Attributes) -> Result<(), CopyError> {
        let keeps_links = attributes.links > 1 && self.route.target().has_hard_links();
        if keeps_links && let Some(copy) = self.links.find(&id(attributes)) {
            self.route.target().make_link(self.job, &step.to, copy).await?;
            self.job.finished(&step.path, |summary| summary.hard_links += 1);
            return Ok(());
        }
        if let Some(copy) = self.look(&step, attributes).await? {
            self.links.remember(id(attributes), copy, if keeps_links { u64::from(attributes.links) } else { 1 });
            self.job.finished(&step.path, |summary| summary.kept += 1);
            return Ok(());
        }
        self.job.tell(Event::Found { path: &step.path, bytes: attributes.size_bytes });
        let (route, job) = (self.route.clone(), Arc::clone(self.job));
        // It is large, and would be moved from here to there several times.
        let copy = Box::pin(copy_file(route, job, step));
        if keeps_links {
            // The further names need the copy: such files are copied one after the other.
            let copy = copy.await?;
            self.links.remember(id(attributes), copy, u64::from(attributes.links));
            return Ok(());
        }
        self.files.spawn(async move { copy.await.map(drop) }).await
    }

    /// Sees to it that a file is not emptied to be filled with itself, and gives its copy if that is there and is to stay.
    async fn look(&self, step: &Step<R>, attributes: &Attributes) -> Result<Option<Made<R>>, CopyError> {
        let (overwrites, resumes) = (self.job.options.overwrite, self.job.options.resume);
        let must_look = resumes || (overwrites && self.route.is_one_server());
        if !must_look {
            return Ok(None);
        }
        let Some((found, of_found)) = self.route.target().existing(&step.to).await? else { return Ok(None) };
        if self.route.is_one_server() && id(&of_found) == id(attributes) {
            return Err(CopyError::Itself { path: step.path.clone() });
        }
        Ok((resumes && is_whole(&of_found, attributes)).then_some(found))
    }

    /// Sets what the directories that were left shall have at the end. Those below others were left first.
    async fn finish(&mut self) -> Result<(), CopyError> {
        self.files.wait().await?;
        for Unfinished { path, made, attributes } in self.unfinished.drain(..) {
            self.route.target().finish(self.job, &path, (made, &attributes)).await?;
        }
        Ok(())
    }
}

/// Whether a copy was ended: it has its original's length, and its time of modification as far as the target's version of NFS can tell it.
fn is_whole(copy: &Attributes, original: &Attributes) -> bool {
    let (to, from) = (copy.modified, original.modified);
    let in_microseconds = from.nanoseconds / 1000 * 1000;
    copy.kind == FileKind::Regular
        && copy.size_bytes == original.size_bytes
        && to.seconds == from.seconds
        && [from.nanoseconds, in_microseconds].contains(&to.nanoseconds)
}

/// Copies a regular file, and counts it.
fn copy_file<R: Route>(
    route: R,
    job: Arc<Job>,
    step: Step<R>,
) -> impl Future<Output = Result<Made<R>, CopyError>> + Send + 'static {
    let path = step.path.clone();
    let copy = route.copy(Arc::clone(&job), step.from, step.path, step.to);
    async move {
        let made = copy.await?;
        job.finished(&path, |summary| summary.files += 1);
        Ok(made)
    }
}
