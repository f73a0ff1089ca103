//! Extended attributes of files by their paths.

use super::Dir;
use crate::{Follow, Result, XattrMode};

/// Extended attributes of the user's, by their names without the `user.` that Linux puts in front (RFC 8276). Only NFSv4.2 has them, of
/// regular files and directories; the empty path names this directory.
impl Dir {
    /// The value of an extended attribute of a file, or `None` when there is none of that name.
    ///
    /// ```no_run
    /// # async fn example(dir: client::Dir) -> client::Result<()> {
    /// use client::XattrMode;
    ///
    /// dir.set_xattr("letter", "language", "de", XattrMode::Either).await?;
    /// assert_eq!(dir.get_xattr("letter", "language").await?, Some(b"de".to_vec()));
    /// assert_eq!(dir.get_xattr("letter", "colour").await?, None);
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// [`crate::Reason::NotInVersion`] before NFSv4.2; [`crate::Status::NotSupported`] where the server keeps none; as those of
    /// [`Dir::lookup`]; what else the server says.
    pub async fn get_xattr(&self, path: impl AsRef<[u8]>, name: impl AsRef<[u8]>) -> Result<Option<Vec<u8>>> {
        let path = path.as_ref();
        let file = self.lookup(path, Follow::Links).await?;
        self.mount.getxattr_if_there(&file.handle, name.as_ref()).await.map_err(|error| error.about(path))
    }

    /// Gives an extended attribute of a file a value.
    ///
    /// # Errors
    /// [`crate::Status::Exists`] and [`crate::Status::NoXattr`] as `mode` says; as those of [`Dir::get_xattr`].
    pub async fn set_xattr(
        &self,
        path: impl AsRef<[u8]>,
        name: impl AsRef<[u8]>,
        value: impl AsRef<[u8]>,
        mode: XattrMode,
    ) -> Result<()> {
        let path = path.as_ref();
        let file = self.lookup(path, Follow::Links).await?;
        let set = self.mount.setxattr(&file.handle, name.as_ref(), value.as_ref(), mode).await;
        set.map_err(|error| error.about(path))
    }

    /// The names of all extended attributes of a file, in the server's order.
    ///
    /// # Errors
    /// As those of [`Dir::get_xattr`]; [`crate::Reason::Lie`] when the list has no end.
    pub async fn list_xattrs(&self, path: impl AsRef<[u8]>) -> Result<Vec<Vec<u8>>> {
        let path = path.as_ref();
        let file = self.lookup(path, Follow::Links).await?;
        self.mount.listxattrs(&file.handle).await.map_err(|error| error.about(path))
    }

    /// Removes an extended attribute of a file.
    ///
    /// # Errors
    /// [`crate::Status::NoXattr`] when there is none of that name; as those of [`Dir::get_xattr`].
    pub async fn remove_xattr(&self, path: impl AsRef<[u8]>, name: impl AsRef<[u8]>) -> Result<()> {
        let path = path.as_ref();
        let file = self.lookup(path, Follow::Links).await?;
        self.mount.removexattr(&file.handle, name.as_ref()).await.map_err(|error| error.about(path))
    }
}
