//! From a handle to the file at hand.

use std::os::fd::{AsFd, OwnedFd};
use std::sync::Arc;

use rustix::fs::{Mode, OFlags, Statx};
use vfs::{Attributes, Context, Error, FileKind, Handle, Result};

use crate::attributes::{from_statx, kind, stat_fd};
use crate::failure::{failed, is_out_of_descriptors};
use crate::host::HostFs;
use crate::kernel_handles::Named;
use crate::node::Node;

impl HostFs {
    /// The attributes of a file that still has a name.
    pub(crate) fn attributes_of(&self, cx: &Context<'_>, handle: &Handle) -> Result<Attributes> {
        let node = self.node(cx, handle)?;
        Ok(from_statx(&self.stat_living(handle, &node)?, self.volume.device))
    }

    /// The file that a handle names, from the worker's shelf or opened anew.
    pub(crate) fn node(&self, cx: &Context<'_>, handle: &Handle) -> Result<Arc<Node>> {
        if let Some(node) = self.nodes.get(cx.worker, handle) {
            return Ok(node);
        }
        self.identity.own()?;
        let node = Arc::new(self.with_room(cx, || self.open_node(handle))?);
        self.nodes.put(cx.worker, *handle, Arc::clone(&node));
        Ok(node)
    }

    /// The directory that a handle names.
    pub(crate) fn dir_node(&self, cx: &Context<'_>, handle: &Handle) -> Result<Arc<Node>> {
        let node = self.node(cx, handle)?;
        if node.kind() == FileKind::Directory { Ok(node) } else { Err(Error::NotDirectory) }
    }

    /// The state of a file at hand, which is stale once its last name is gone: what is still open lives on, but not by its
    /// handle.
    pub(crate) fn stat_living(&self, handle: &Handle, node: &Node) -> Result<Statx> {
        let stat = stat_fd(node.fd())?;
        if stat.stx_nlink == 0 {
            self.nodes.forget(handle);
            return Err(Error::Stale);
        }
        Ok(stat)
    }

    /// Runs `open`, and once more with half of the worker's shelf cleared if no descriptor was left.
    pub(crate) fn with_room<T>(&self, cx: &Context<'_>, open: impl Fn() -> Result<T>) -> Result<T> {
        match open() {
            Err(error) if is_out_of_descriptors(&error) => {
                self.nodes.shrink(cx.worker);
                open()
            }
            done => done,
        }
    }

    /// Lets go of the descriptors of files that something else on the host has removed, so that their space is freed.
    ///
    /// Files that this server removes are let go at once. For the others the server calls this now and then; it asks the
    /// kernel once per file at hand.
    pub fn release_removed(&self) {
        self.nodes.retain_living(|node| stat_fd(node.fd()).is_ok_and(|stat| stat.stx_nlink == 0));
    }

    fn open_node(&self, handle: &Handle) -> Result<Node> {
        let fd = match self.handles.decode(handle)? {
            Named::Root => self.open_root()?,
            Named::Kernel(kernel) => self.handles.open(self.volume.root(), &kernel)?,
            Named::Stored(_) => return Err(Error::Stale),
        };
        let stat = stat_fd(fd.as_fd())?;
        // An inode that only an open descriptor keeps alive can still be opened by its handle.
        if stat.stx_nlink == 0 { Err(Error::Stale) } else { Ok(Node::new(fd, kind(&stat))) }
    }

    fn open_root(&self) -> Result<OwnedFd> {
        let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
        rustix::fs::openat(self.volume.root(), c".", flags, Mode::empty()).map_err(failed)
    }
}
