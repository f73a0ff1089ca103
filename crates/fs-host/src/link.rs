//! Further names of a file.

use std::ffi::CStr;
use std::os::fd::BorrowedFd;

use rustix::fs::{AtFlags, CWD};
use vfs::{Access, Attributes, Context, Error, FileKind, Handle, Place, Result};

use crate::attributes::{from_statx, stat_fd};
use crate::failure::failed;
use crate::host::HostFs;
use crate::node::{CName, HostNode};
use crate::proc_path::proc_path;

impl HostFs {
    pub(crate) fn add_name(&self, cx: &Context<'_>, handle: &Handle, place: Place<'_>) -> Result<Attributes> {
        let dir = self.dir_to_change(cx, &place.dir)?;
        let node = self.node(cx, handle)?;
        if node.kind() == FileKind::Directory {
            return Err(Error::IsDirectory);
        }
        if self.stat_living(handle, &node)?.stx_nlink == 0 {
            return Err(Error::Stale);
        }
        let name = CName::new(place.name);
        let link = NewName { file: &node, dir: &dir, name: name.as_c_str() };
        self.identity.assume(&cx.caller)?;
        match link.make() {
            Err(Error::NotPermitted) if self.identity.switches() => self.link_as_server(cx, &place.dir, &link)?,
            made => made?,
        }
        self.settle_dir(&dir)?;
        self.reaffirm(handle, &node)?;
        Ok(from_statx(&stat_fd(node.fd())?, self.volume.device))
    }

    /// Makes a link that `fs.protected_hardlinks` keeps from the caller. That setting is about users of this machine; a
    /// client's kernel has one of its own, and a server of NFS asks for permission to add names to the directory and
    /// for nothing else (RFC 1813 §3.3.15, RFC 8881 §18.9). What the kernel refuses for other reasons, it refuses
    /// again.
    fn link_as_server(&self, cx: &Context<'_>, dir: &Handle, link: &NewName<'_>) -> Result<()> {
        let attributes = from_statx(&stat_fd(link.dir.fd())?, self.volume.device);
        if !self.allowed(cx, dir, &attributes)?.contains(Access::WRITE | Access::EXECUTE) {
            return Err(Error::AccessDenied);
        }
        self.identity.own()?;
        link.make()
    }
}

/// A further name that a file shall have.
struct NewName<'l> {
    file: &'l HostNode,
    dir: &'l HostNode,
    name: &'l CStr,
}

impl NewName<'_> {
    fn make(&self) -> Result<()> {
        link_fd(self.file.fd(), self.dir, self.name)
    }
}

/// Gives what `file` stands for the name `name` in `dir`.
pub(crate) fn link_fd(file: BorrowedFd<'_>, dir: &HostNode, name: &CStr) -> Result<()> {
    // By way of /proc, since naming the descriptor itself needs a capability that a switched thread has lost.
    let file = proc_path(file);
    rustix::fs::linkat(CWD, file.as_c_str(), dir.fd(), name, AtFlags::SYMLINK_FOLLOW).map_err(failed)
}
