//! From a handle to the file at hand.

use std::os::fd::{AsFd, OwnedFd};
use std::sync::Arc;

use rustix::fs::{Mode, OFlags, Statx};
use vfs::{Attributes, Context, Error, FileHold, FileKind, Handle, Result};

use crate::attributes::{check_regular, from_statx, kind, stat_fd};
use crate::failure::failed;
use crate::form::{Named, decode, root_handle};
use crate::handles::{FileAt, Handles};
use crate::host::HostFs;
use crate::node::HostNode;

impl HostFs {
    /// The attributes of a file that has a name or is held.
    pub(crate) fn attributes_of(&self, cx: &Context<'_>, handle: &Handle) -> Result<Attributes> {
        // Not by way of `living`, which hands a large structure on: a twentieth of the instructions of a GETATTR.
        let stat = match self.nodes.get(cx.worker, handle) {
            Some(node) => self.stat_living(handle, &node)?,
            None => self.stat_opened(cx, handle)?,
        };
        Ok(from_statx(&stat, self.volume.device))
    }

    /// The state of a file that is not at hand.
    fn stat_opened(&self, cx: &Context<'_>, handle: &Handle) -> Result<Statx> {
        match self.made.stat(handle) {
            Some(stat) => self.check_living(handle, stat?),
            None => Ok(self.opened(cx, handle, 0).map_err(elsewhere_is_stale)?.1),
        }
    }

    /// The file that a handle names, and its state now; stale when it has no name any more and is not held.
    pub(crate) fn living(&self, cx: &Context<'_>, handle: &Handle) -> Result<(Arc<HostNode>, Statx)> {
        if let Some(node) = self.nodes.get(cx.worker, handle) {
            let stat = self.stat_living(handle, &node)?;
            return Ok((node, stat));
        }
        self.opened(cx, handle, 0).map_err(elsewhere_is_stale)
    }

    /// The file that a handle names, from the worker's cache or newly opened.
    pub(crate) fn node(&self, cx: &Context<'_>, handle: &Handle) -> Result<Arc<HostNode>> {
        self.node_at(cx, handle, 0).map_err(elsewhere_is_stale)
    }

    /// The same, on the way to a file that is `depth` levels below.
    pub(crate) fn node_at(&self, cx: &Context<'_>, handle: &Handle, depth: usize) -> Result<Arc<HostNode>> {
        match self.nodes.get(cx.worker, handle) {
            Some(node) => Ok(node),
            None => self.opened(cx, handle, depth).map(|(node, _)| node),
        }
    }

    /// A file that is not in the cache, newly opened, and its state.
    fn opened(&self, cx: &Context<'_>, handle: &Handle, depth: usize) -> Result<(Arc<HostNode>, Statx)> {
        if let Some(held) = self.living_held(cx, handle)? {
            return Ok(held);
        }
        self.identity.own()?;
        let changes = self.volume.borders.changes();
        let opened = self.with_room(cx, || self.open_node(cx, handle, depth));
        if let (Some(known), Err(Error::Stale)) = (&self.known, &opened) {
            known.forget(handle);
        }
        let (node, stat) = opened?;
        let node = Arc::new(node);
        self.nodes.put(cx.worker, *handle, Arc::clone(&node));
        if self.volume.borders.changes() != changes {
            // It was judged by borders that may no longer be in force.
            self.nodes.forget(handle);
        }
        Ok((node, stat))
    }

    /// The directory that a handle names.
    pub(crate) fn dir_node(&self, cx: &Context<'_>, handle: &Handle) -> Result<Arc<HostNode>> {
        let node = self.node(cx, handle)?;
        if node.kind() == FileKind::Directory { Ok(node) } else { Err(Error::NotDirectory) }
    }

    /// Holds a regular file until the result is dropped.
    pub(crate) fn hold_file(&self, cx: &Context<'_>, handle: &Handle) -> Result<FileHold> {
        let hold = self.held.hold(*handle, || {
            let node = self.node(cx, handle)?;
            check_regular(node.kind())?;
            Ok(node)
        })?;
        Ok(Box::new(hold))
    }

    /// A held file and its state. With a name it is at hand again; without one only the holds keep its space.
    fn living_held(&self, cx: &Context<'_>, handle: &Handle) -> Result<Option<(Arc<HostNode>, Statx)>> {
        let Some(node) = self.held.get(handle) else { return Ok(None) };
        let stat = stat_fd(node.fd())?;
        match stat.stx_nlink {
            0 => node.lose_name(),
            _ => self.nodes.put(cx.worker, *handle, Arc::clone(&node)),
        }
        Ok(Some((node, stat)))
    }

    /// The state of a file at hand.
    pub(crate) fn stat_living(&self, handle: &Handle, node: &HostNode) -> Result<Statx> {
        self.check_living(handle, stat_fd(node.fd())?)
    }

    /// The state of a file, which is stale once its last name is gone, unless somebody holds it. What else is open
    /// lives on, but not by its handle.
    pub(crate) fn check_living(&self, handle: &Handle, stat: Statx) -> Result<Statx> {
        if stat.stx_nlink == 0 {
            self.nodes.forget(handle);
            self.held.get(handle).ok_or(Error::Stale)?.lose_name();
        }
        Ok(stat)
    }

    /// Runs `open`, and when no descriptor was left, once more with half of the worker's shelf cleared, and then of
    /// all.
    pub(crate) fn with_room<T>(&self, cx: &Context<'_>, open: impl Fn() -> Result<T>) -> Result<T> {
        match open() {
            Err(error) if error.lacks_descriptors() => self.nodes.shrink(cx.worker),
            done => return done,
        }
        match open() {
            Err(error) if error.lacks_descriptors() => {
                self.made.clear();
                self.nodes.shrink_all();
            }
            done => return done,
        }
        open()
    }

    /// Lets go of the descriptors of files that something else on the host has removed, so that their space is freed.
    ///
    /// Files that this server removes are let go at once. For the others the server calls this now and then; it asks
    /// the kernel once per file at hand.
    pub(crate) fn release_removed(&self) {
        self.nodes.drop_where(|node| stat_fd(node.fd()).is_ok_and(|stat| stat.stx_nlink == 0));
    }

    /// Makes every handle that was made so far survive the end of this process.
    pub(crate) fn keep_handles(&self) -> Result<()> {
        let Some(stored) = self.handles.stored() else { return Ok(()) };
        // The store's files are the server's own.
        self.identity.own()?;
        stored.store.flush().map_err(Error::Io)
    }

    /// Makes the handles of what was changed as durable as the change.
    pub(crate) fn settle_handles(&self) -> Result<()> {
        match self.handles.stored() {
            Some(stored) if self.syncs() => {
                self.identity.own()?;
                stored.store.sync_new().map_err(Error::Io)
            }
            _ => self.keep_handles(),
        }
    }

    /// Hands to the kernel which files the store has forgotten. What fails is tried again the next time.
    pub(crate) fn tidy_store(&self) {
        if let Some(Err(error)) = self.handles.stored().map(|stored| stored.store.flush_all()) {
            tracing::debug!(%error, "cannot write to the store of file handles");
        }
    }

    /// Brings what is new in the store to stable storage.
    pub(crate) fn sync_handles(&self) -> Result<()> {
        let Some(stored) = self.handles.stored() else { return Ok(()) };
        self.identity.own()?;
        stored.store.sync().map_err(Error::Io)
    }

    /// Writes down what a file is recognised by, after a change that can make another file of it on an overlay.
    pub(crate) fn reaffirm(&self, handle: &Handle, node: &HostNode) -> Result<()> {
        match self.handles.stored() {
            Some(stored) if *handle != root_handle() && !node.is_nameless() => {
                stored.reaffirm(handle, FileAt::of_fd(&node.fd(), &stat_fd(node.fd())?))?;
                self.settle_handles()
            }
            _ => Ok(()),
        }
    }

    fn open_node(&self, cx: &Context<'_>, handle: &Handle, depth: usize) -> Result<(HostNode, Statx)> {
        let root = self.volume.root();
        let fd = match (decode(handle)?, &self.handles) {
            (Named::Root, _) => self.open_root()?,
            (named, Handles::Kernel(kernel)) => kernel.open(cx, root, &named)?,
            (Named::Stored(id), Handles::Stored(stored)) => self.open_stored(cx, stored, id, depth)?,
            // Given out when the export named its files in the other way.
            (Named::Kernel(..) | Named::Btrfs(..), Handles::Stored(_)) => return Err(Error::Stale),
        };
        let stat = stat_fd(fd.as_fd())?;
        // An inode that only an open descriptor keeps alive can still be opened by its handle.
        if stat.stx_nlink == 0 {
            return Err(Error::Stale);
        }
        if !self.volume.borders.is_empty() && kind(&stat) == FileKind::Directory {
            self.check_inside(fd.as_fd(), &stat)?;
        }
        Ok((HostNode::new(fd, kind(&stat)), stat))
    }

    pub(crate) fn open_root(&self) -> Result<OwnedFd> {
        let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
        rustix::fs::openat(self.volume.root(), c".", flags, Mode::empty()).map_err(failed)
    }
}

/// A handle from before another export began there: whoever looks its name up again gets that export's.
fn elsewhere_is_stale(error: Error) -> Error {
    match error {
        Error::Elsewhere(_) => Error::Stale,
        error => error,
    }
}
