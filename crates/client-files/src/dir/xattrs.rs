//! Extended attributes of files by their paths.

use super::Dir;
use crate::mount::by_path;
use crate::{Follow, Result, XattrMode};

/// Extended attributes of users, by names without Linux's prefix `user.` (RFC 8276). Only NFSv4.2 has them, for regular
/// files and directories; the empty path names this directory.
impl Dir {
    /// The value of a file's extended attribute, or `None` if it has none of that name.
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
    /// [`crate::Reason::NotInVersion`] before NFSv4.2; [`crate::Status::NotSupported`] from a server without them; as
    /// for [`Dir::lookup`]; other errors of the server.
    pub async fn get_xattr(&self, path: impl AsRef<[u8]>, name: impl AsRef<[u8]>) -> Result<Option<Vec<u8>>> {
        let path = path.as_ref();
        by_path!(async {
            let file = self.walk().run(path, Follow::Links).await?;
            self.mount.getxattr_if_there(&file.handle, name.as_ref()).await
        })
        .map_err(|error| error.about(path))
    }

    /// Sets an extended attribute of a file.
    ///
    /// # Errors
    /// [`crate::Status::Exists`] and [`crate::Status::NoXattr`], depending on `mode`; as for [`Dir::get_xattr`].
    pub async fn set_xattr(
        &self,
        path: impl AsRef<[u8]>,
        name: impl AsRef<[u8]>,
        value: impl AsRef<[u8]>,
        mode: XattrMode,
    ) -> Result<()> {
        let path = path.as_ref();
        by_path!(async {
            let file = self.walk().run(path, Follow::Links).await?;
            self.mount.setxattr(&file.handle, name.as_ref(), value.as_ref(), mode).await
        })
        .map_err(|error| error.about(path))
    }

    /// The names of all extended attributes of a file, in the server's order.
    ///
    /// # Errors
    /// As for [`Dir::get_xattr`]; [`crate::Reason::Lie`] if the list has no end.
    pub async fn list_xattrs(&self, path: impl AsRef<[u8]>) -> Result<Vec<Vec<u8>>> {
        let path = path.as_ref();
        by_path!(async {
            let file = self.walk().run(path, Follow::Links).await?;
            self.mount.listxattrs(&file.handle).await
        })
        .map_err(|error| error.about(path))
    }

    /// Removes an extended attribute of a file.
    ///
    /// # Errors
    /// [`crate::Status::NoXattr`] if it does not exist; as for [`Dir::get_xattr`].
    pub async fn remove_xattr(&self, path: impl AsRef<[u8]>, name: impl AsRef<[u8]>) -> Result<()> {
        let path = path.as_ref();
        by_path!(async {
            let file = self.walk().run(path, Follow::Links).await?;
            self.mount.removexattr(&file.handle, name.as_ref()).await
        })
        .map_err(|error| error.about(path))
    }
}
