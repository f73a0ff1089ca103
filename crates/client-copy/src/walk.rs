//! The walk through a tree, on either side: depth first. Directories are made before their entries are copied, and get
//! their modes and times afterwards.

use std::sync::Arc;
use std::time::Duration;

use vfs::{Attributes, FileKind};

use super::error::CopyError;
use super::itself::{self, Likeness};
use super::job::{Files, Job};
use super::links::Links;
use super::options::Event;
use super::resume::is_whole;
use super::sides::{Entries, File, Made, Origin, Place, Route, Target};
use super::xattrs::Holder;
use super::{local, mark, xattrs};

/// The deepest nesting of directories: half as deep as Linux can name in one path.
const MAX_DEPTH: usize = 1024;
/// The most copied directories that wait for their modes and times. At the limit the walk waits until the files in them
/// are copied.
const MAX_UNFINISHED_DIRECTORIES: usize = 4096;

/// Identifies a file of a server or of this machine: `fsid` and `fileid`.
type Id = (u64, u64);

fn id(attributes: &Attributes) -> Id {
    (attributes.fsid, attributes.fileid)
}

/// A file to copy, and its target.
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
    /// The copy's top, if it is a directory.
    top: Option<Id>,
    /// Where that is.
    top_place: Option<Place<R>>,
    /// The directories from the top to the one being copied.
    open: Vec<Open<'w, R>>,
    /// Directories that get their modes and times once the files in them are copied.
    unfinished: Vec<Unfinished<R>>,
    /// The top of the tree, once everything else is copied or being copied.
    top_dir: Option<Unfinished<R>>,
}

/// How long a copy that ends early may take to leave its files ready to resume.
const HALT_TIMEOUT: Duration = Duration::from_secs(10);

/// Copies the tree whose top is `first`.
pub(super) async fn walk<R: Route>(job: &Arc<Job>, route: &R, first: Step<R>) -> Result<(), CopyError> {
    let (files, links) = (Files::new(job), Links::new());
    let (open, unfinished) = (Vec::new(), Vec::new());
    let mut walk = Walk { job, route, files, links, top: None, top_place: None, open, unfinished, top_dir: None };
    let stop = job.options.stop.clone().unwrap_or_default();
    let ended = tokio::select! {
        ended = walk.run(first) => ended,
        () = stop.stopped() => Err(CopyError::Stopped),
    };
    if let Err(error) = ended {
        // If the server does not answer, the files stay as they are.
        let _ = tokio::time::timeout(HALT_TIMEOUT, walk.halt(&error)).await;
        return Err(error);
    }
    match job.count().failed {
        0 => Ok(()),
        failed => Err(CopyError::Incomplete { failed }),
    }
}

/// An entry of a directory: what to copy, or the path that cannot be looked up and why.
type Next<R> = Result<Step<R>, (Vec<u8>, CopyError)>;

impl<R: Route> Open<'_, R> {
    /// The next entry. Skips the mark of an unfinished copy.
    async fn next(&mut self, is_marked: bool) -> Result<Option<Next<R>>, CopyError> {
        let (name, found) = loop {
            match self.listing.next(&self.path).await? {
                Some((name, _)) if is_marked && name == mark::NAME.as_bytes() => {}
                Some(next) => break next,
                None => return Ok(None),
            }
        };
        let path = [&self.path[..], b"/", &name].concat();
        let to = R::Target::place(&self.made, &path, &name);
        Ok(Some(match found {
            Ok(from) => Ok(Step { from, path, to }),
            Err(error) => Err((path, error)),
        }))
    }
}

impl<'w, R: Route> From<Open<'w, R>> for Unfinished<R> {
    fn from(Open { path, made, attributes, .. }: Open<'w, R>) -> Unfinished<R> {
        Unfinished { path, made, attributes }
    }
}

impl<R: Route> Walk<'_, R> {
    async fn run(&mut self, first: Step<R>) -> Result<(), CopyError> {
        self.copy(first).await?;
        while let Some(next) = self.next().await {
            match next {
                Ok(Some(Ok(step))) => self.copy_entry(step).await?,
                Ok(Some(Err((path, error)))) => self.job.failed(&path, error)?,
                Ok(None) => self.leave().await?,
                // The rest of the listing is unreachable.
                Err(error) => {
                    self.fail(error)?;
                    self.leave().await?;
                }
            }
        }
        self.finish().await?;
        self.finish_top().await
    }

    /// The next entry of the deepest open directory, if one is open.
    async fn next(&mut self) -> Option<Result<Option<Next<R>>, CopyError>> {
        let is_marked = self.open.len() == 1 && self.job.options.mark.is_some();
        Some(self.open.last_mut()?.next(is_marked).await)
    }

    /// Copies an entry of a directory. A failure skips the entry if the job goes on after failures.
    async fn copy_entry(&mut self, step: Step<R>) -> Result<(), CopyError> {
        let path = step.path.clone();
        match self.copy(step).await {
            Err(error) => self.job.failed(&path, error),
            done => done,
        }
    }

    /// Counts a failure of the deepest open directory.
    fn fail(&self, error: CopyError) -> Result<(), CopyError> {
        match self.open.last() {
            Some(open) => self.job.failed(&open.path, error),
            None => Err(error),
        }
    }

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
        let (made, of_made) = match (self.top, &self.job.options.mark) {
            (None, Some(origin)) => self.marked_directory(&step.to, &attributes, origin).await?,
            _ => self.route.target().make_directory(self.job, &step.to, &attributes).await?,
        };
        if self.top.is_none() {
            self.top = Some(id(&of_made));
            self.top_place = Some(step.to);
        }
        let (origin, target) = (self.route.origin(), self.route.target());
        let original = Holder { side: origin, file: R::Origin::holder(&step.from) };
        xattrs::keep(self.job, &step.path, original, Holder { side: target, file: &made }).await?;
        let listing = origin.list(&step.from).await?;
        self.open.push(Open { listing, path: step.path, made, attributes });
        Ok(())
    }

    /// Makes the top directory, which is marked from the moment on at which it exists.
    async fn marked_directory(
        &self,
        to: &Place<R>,
        like: &Attributes,
        origin: &[u8],
    ) -> Result<(Made<R>, Attributes), CopyError> {
        let target = self.route.target();
        let is_new = matches!(target.existing(to).await, Ok(None));
        let is_beside = is_new && target.mark_beside(to, origin).await;
        match target.make_directory(self.job, to, like).await {
            Ok((made, of_made)) if is_beside => target.move_mark_in(to, &made).await.map(|()| (made, of_made)),
            Ok((made, of_made)) => target.mark(to, &made, origin).await.map(|()| (made, of_made)),
            Err(error) if is_beside => target.unmark(to).await.and(Err(error)),
            Err(error) => Err(error),
        }
    }

    /// Leaves a directory after its last entry.
    async fn leave(&mut self) -> Result<(), CopyError> {
        let Some(left) = self.open.pop() else { return Ok(()) };
        self.job.finished(&left.path, |summary| summary.directories += 1);
        if self.open.is_empty() {
            self.top_dir = Some(left.into());
            return Ok(());
        }
        self.unfinished.push(left.into());
        if self.unfinished.len() < MAX_UNFINISHED_DIRECTORIES { Ok(()) } else { self.finish().await }
    }

    async fn symlink(&self, step: &Step<R>, attributes: &Attributes) -> Result<(), CopyError> {
        let target = self.route.origin().readlink(&step.from, &step.path).await?;
        self.route.target().make_symlink(self.job, &step.to, target, attributes).await?;
        self.job.finished(&step.path, |summary| summary.symlinks += 1);
        Ok(())
    }

    async fn special(&self, step: &Step<R>, attributes: &Attributes) -> Result<(), CopyError> {
        let Some(node) = local::special(attributes) else { return Ok(()) };
        self.route.target().make_special(self.job, &step.to, node, attributes).await?;
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
            self.job.tell(Event::Found { path: &step.path, bytes: attributes.size_bytes });
            self.job.tell(Event::Kept(attributes.size_bytes));
            self.job.finished(&step.path, |summary| summary.kept += 1);
            return Ok(());
        }
        self.job.tell(Event::Found { path: &step.path, bytes: attributes.size_bytes });
        let (route, job, path) = (self.route.clone(), Arc::clone(self.job), step.path.clone());
        // The future is large; the box saves moving it several times.
        let copy = Box::pin(copy_file(route, Arc::clone(&job), step));
        if keeps_links {
            // The further names need the copy, so such files are copied one after the other.
            let copy = copy.await?;
            self.links.remember(id(attributes), copy, u64::from(attributes.links));
            return Ok(());
        }
        let is_alone = self.open.is_empty();
        let copy = async move {
            match copy.await {
                Err(error) if !is_alone => job.failed(&path, error),
                other => other.map(drop),
            }
        };
        self.files.spawn(copy).await
    }

    /// Refuses to truncate a file for a copy onto itself. Returns the existing copy if it is to stay.
    async fn look(&self, step: &Step<R>, attributes: &Attributes) -> Result<Option<Made<R>>, CopyError> {
        if !self.job.options.overwrite {
            return Ok(None);
        }
        let Some((found, of_found)) = self.route.target().existing(&step.to).await? else { return Ok(None) };
        let is_itself = || Err(CopyError::Itself { path: step.path.clone() });
        if self.route.is_one_server() && id(&of_found) == id(attributes) {
            return is_itself();
        }
        if self.job.options.resume && is_whole(&of_found, attributes) {
            return Ok(Some(found));
        }
        if self.is_itself(step, &found, &of_found).await? { is_itself() } else { Ok(None) }
    }

    /// Whether an existing target is the original under another name.
    async fn is_itself(&self, step: &Step<R>, found: &Made<R>, of_found: &Attributes) -> Result<bool, CopyError> {
        let (origin, target) = (self.route.origin(), self.route.target());
        let before = origin.attributes_now(&step.from, &step.path).await?;
        let other = match itself::compare(&before, of_found) {
            Likeness::Two => return Ok(false),
            Likeness::One => return Ok(true),
            Likeness::Try(other) => other,
        };
        target.set_modified(found, &step.path, other).await?;
        let after = origin.attributes_now(&step.from, &step.path).await?;
        let is_itself = after.modified.seconds == other.seconds;
        if is_itself {
            target.set_modified(found, &step.path, before.modified).await?;
        }
        Ok(is_itself)
    }

    /// Sets the final attributes of the directories left so far. Deeper ones were left first.
    async fn finish(&mut self) -> Result<(), CopyError> {
        self.files.wait().await?;
        for Unfinished { path, made, attributes } in self.unfinished.drain(..) {
            let finished = self.route.target().finish(self.job, &path, made, &attributes).await;
            finished.or_else(|error| self.job.failed(&path, error))?;
        }
        Ok(())
    }

    /// Finishes the tree's top, and removes its mark if everything was copied.
    async fn finish_top(&mut self) -> Result<(), CopyError> {
        let Some(Unfinished { path, made, attributes }) = self.top_dir.take() else { return Ok(()) };
        let target = self.route.target();
        let is_whole = self.job.options.mark.is_some() && self.job.count().failed == 0;
        let marked = self.top_place.take().filter(|_| is_whole);
        if let Some(to) = &marked {
            target.move_mark_out(to, &made).await?;
        }
        target.finish(self.job, &path, made, &attributes).await?;
        match &marked {
            Some(to) => target.unmark(to).await,
            None => Ok(()),
        }
    }

    /// Leaves files ready to resume, and gives all directories made so far their modes and times.
    async fn halt(&mut self, error: &CopyError) {
        if !error.leaves_servers_in_reach() {
            return;
        }
        self.job.halt.stop();
        let Walk { job, route, files, open, unfinished, top_dir, .. } = self;
        let directories = async {
            let open = open.drain(..).rev().map(Unfinished::from);
            for Unfinished { path, made, attributes } in unfinished.drain(..).chain(open).chain(top_dir.take()) {
                // The copy ends with its first failure, so this one is dropped.
                let _ = route.target().finish(job, &path, made, &attributes).await;
            }
        };
        tokio::join!(files.halt(), directories);
    }
}

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
