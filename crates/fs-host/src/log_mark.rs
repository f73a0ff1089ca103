//! The mark of a write log: an attribute of the exported directory that clients neither see nor change.

use std::ffi::CStr;

use rustix::fs::XattrFlags;
use vfs::{Error, Result};

use crate::failure::failed;
use crate::host::HostFs;
use crate::proc_path::proc_path;
use crate::xattr;

const NAME: &CStr = c"user.wharf.write-log";

impl HostFs {
    pub(crate) fn read_log_mark(&self) -> Result<Option<Vec<u8>>> {
        self.identity.own()?;
        match xattr::read(proc_path(self.volume.root()).as_c_str(), NAME) {
            Err(Error::NotSupported) => Ok(None),
            read => read,
        }
    }

    pub(crate) fn write_log_mark(&self, mark: &[u8]) -> Result<()> {
        self.identity.own()?;
        let root = self.volume.root();
        rustix::fs::fsetxattr(root, NAME, mark, XattrFlags::empty()).map_err(failed)?;
        rustix::fs::fsync(root).map_err(failed)
    }
}
