//! Extended attributes of an open file.

use super::File;
use crate::{Result, XattrMode};

/// Extended attributes of the user's, by their names without the `user.` that Linux puts in front (RFC 8276). Only NFSv4.2 has them.
impl File {
    /// The value of an extended attribute, or `None` when there is none of that name.
    ///
    /// # Errors
    /// [`crate::Reason::NotInVersion`] before NFSv4.2; [`crate::Status::NotSupported`] where the server keeps none; what else it says.
    pub async fn get_xattr(&self, name: impl AsRef<[u8]>) -> Result<Option<Vec<u8>>> {
        self.mount.getxattr_if_there(self.handle(), name.as_ref()).await
    }

    /// Gives an extended attribute a value.
    ///
    /// # Errors
    /// [`crate::Status::Exists`] and [`crate::Status::NoXattr`] as `mode` says; as those of [`File::get_xattr`].
    pub async fn set_xattr(&self, name: impl AsRef<[u8]>, value: impl AsRef<[u8]>, mode: XattrMode) -> Result<()> {
        self.mount.setxattr(self.handle(), name.as_ref(), value.as_ref(), mode).await
    }

    /// The names of all extended attributes, in the server's order.
    ///
    /// # Errors
    /// As those of [`File::get_xattr`]; [`crate::Reason::Lie`] when the list has no end.
    pub async fn list_xattrs(&self) -> Result<Vec<Vec<u8>>> {
        self.mount.listxattrs(self.handle()).await
    }

    /// Removes an extended attribute.
    ///
    /// # Errors
    /// [`crate::Status::NoXattr`] when there is none of that name; as those of [`File::get_xattr`].
    pub async fn remove_xattr(&self, name: impl AsRef<[u8]>) -> Result<()> {
        self.mount.removexattr(self.handle(), name.as_ref()).await
    }
}
