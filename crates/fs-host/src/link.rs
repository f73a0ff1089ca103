//! Further names of a file.

use rustix::fs::{AtFlags, CWD};
use vfs::{Attributes, Context, Error, FileKind, Handle, Place, Result};

use crate::attributes::{from_statx, stat_fd};
use crate::failure::failed;
use crate::host::HostFs;
use crate::node::{CName, proc_path};

impl HostFs {
    pub(crate) fn add_name(&self, cx: &Context<'_>, handle: &Handle, place: Place<'_>) -> Result<Attributes> {
        let dir = self.dir_to_change(cx, &place.dir)?;
        let node = self.node(cx, handle)?;
        if node.kind() == FileKind::Directory {
            return Err(Error::IsDirectory);
        }
        self.stat_living(handle, &node)?;
        let name = CName::new(place.name);
        self.identity.assume(&cx.caller)?;
        // By way of /proc, since naming the descriptor itself needs a capability that a switched thread has lost.
        let named = proc_path(node.fd());
        rustix::fs::linkat(CWD, named.as_c_str(), dir.fd(), name.as_c_str(), AtFlags::SYMLINK_FOLLOW)
            .map_err(failed)?;
        self.settle_dir(&dir)?;
        self.reaffirm(handle, &node)?;
        Ok(from_statx(&stat_fd(node.fd())?, self.volume.device))
    }
}
