//! Extended attributes of an open file.

use super::File;
use crate::{Result, XattrMode};

/// Extended attributes of users, by names without Linux's prefix `user.` (RFC 8276). Only NFSv4.2 has them.
impl File {
    /// The value of an extended attribute, or `None` if there is none of that name.
    ///
    /// # Errors
    /// [`crate::Reason::NotInVersion`] before NFSv4.2; [`crate::Status::NotSupported`] from a server without them;
    /// other errors of the server.
    pub async fn get_xattr(&self, name: impl AsRef<[u8]>) -> Result<Option<Vec<u8>>> {
        self.mount.getxattr_if_there(self.handle(), name.as_ref()).await
    }

    /// Sets an extended attribute.
    ///
    /// # Errors
    /// [`crate::Status::Exists`] and [`crate::Status::NoXattr`], depending on `mode`; as for [`File::get_xattr`].
    pub async fn set_xattr(&self, name: impl AsRef<[u8]>, value: impl AsRef<[u8]>, mode: XattrMode) -> Result<()> {
        self.mount.setxattr(self.handle(), name.as_ref(), value.as_ref(), mode).await
    }

    /// The names of all extended attributes, in the server's order.
    ///
    /// # Errors
    /// As for [`File::get_xattr`]; [`crate::Reason::Lie`] if the list has no end.
    pub async fn list_xattrs(&self) -> Result<Vec<Vec<u8>>> {
        self.mount.listxattrs(self.handle()).await
    }

    /// Removes an extended attribute.
    ///
    /// # Errors
    /// [`crate::Status::NoXattr`] if it does not exist; as for [`File::get_xattr`].
    pub async fn remove_xattr(&self, name: impl AsRef<[u8]>) -> Result<()> {
        self.mount.removexattr(self.handle(), name.as_ref()).await
    }
}
