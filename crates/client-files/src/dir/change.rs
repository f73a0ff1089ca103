//! Changes of a directory's entries.

use vfs::{Attributes, SetAttributes};

use super::Dir;
use crate::mount::by_path;
use crate::{Entry, Follow, Result, SpecialFile};

impl Dir {
    /// Makes a directory with these permission bits.
    ///
    /// # Errors
    /// [`Status::Exists`](crate::Status::Exists); other errors of the server.
    pub async fn create_dir(&self, path: impl AsRef<[u8]>, mode: u32) -> Result<Dir> {
        let path = path.as_ref();
        let made = by_path!(async {
            let (dir, name) = self.parent(path).await?;
            self.mount.mkdir(&dir, &name, &with_mode(mode)).await
        });
        made.map(|made| self.mount.dir(&made.handle)).map_err(|error| error.about(path))
    }

    /// Makes a symbolic link to `target` at `path`, as `ln -s` does.
    ///
    /// # Errors
    /// [`Status::Exists`](crate::Status::Exists); other errors of the server.
    pub async fn symlink(&self, target: impl AsRef<[u8]>, path: impl AsRef<[u8]>) -> Result<Entry> {
        let path = path.as_ref();
        let (target, mode) = (target.as_ref(), with_mode(0o777));
        by_path!(async {
            let (dir, name) = self.parent(path).await?;
            self.mount.symlink(&dir, &name, target, &mode).await
        })
        .map_err(|error| error.about(path))
    }

    /// Makes a device, a socket or a FIFO with these permission bits.
    ///
    /// # Errors
    /// [`Status::Exists`](crate::Status::Exists); other errors of the server.
    pub async fn create_special(&self, path: impl AsRef<[u8]>, node: SpecialFile, mode: u32) -> Result<Entry> {
        let path = path.as_ref();
        by_path!(async {
            let (dir, name) = self.parent(path).await?;
            self.mount.mknod(&dir, &name, node, &with_mode(mode)).await
        })
        .map_err(|error| error.about(path))
    }

    /// Gives the file at `path` the further name `to`, below `to_dir`. Does not follow a symbolic link at `path`.
    ///
    /// # Errors
    /// [`Status::Exists`](crate::Status::Exists); other errors of the server.
    pub async fn hard_link(&self, path: impl AsRef<[u8]>, to_dir: &Dir, to: impl AsRef<[u8]>) -> Result<()> {
        let (path, to) = (path.as_ref(), to.as_ref());
        by_path!(async {
            let file = self.walk().run(path, Follow::Nothing).await.map_err(|error| error.about(path))?;
            let (dir, name) = to_dir.parent(to).await.map_err(|error| error.about(to))?;
            self.mount.link(&file.handle, &dir, &name).await.map_err(|error| error.about(to))
        })
    }

    /// Moves the file at `path` to the name `to`, below `to_dir`, and replaces an existing file of the same kind.
    ///
    /// # Errors
    /// The error of the server.
    pub async fn rename(&self, path: impl AsRef<[u8]>, to_dir: &Dir, to: impl AsRef<[u8]>) -> Result<()> {
        let (path, to) = (path.as_ref(), to.as_ref());
        by_path!(async {
            let (from_dir, from_name) = self.parent(path).await.map_err(|error| error.about(path))?;
            let (to_dir, to_name) = to_dir.parent(to).await.map_err(|error| error.about(to))?;
            let renamed = self.mount.rename(&from_dir, &from_name, &to_dir, &to_name).await;
            renamed.map_err(|error| error.about(path))
        })
    }

    /// Removes a name of anything but a directory.
    ///
    /// # Errors
    /// The error of the server.
    pub async fn remove_file(&self, path: impl AsRef<[u8]>) -> Result<()> {
        let path = path.as_ref();
        by_path!(async {
            let (dir, name) = self.parent(path).await?;
            self.mount.remove(&dir, &name).await
        })
        .map_err(|error| error.about(path))
    }

    /// Removes an empty directory.
    ///
    /// # Errors
    /// [`Status::NotEmpty`](crate::Status::NotEmpty); other errors of the server.
    pub async fn remove_dir(&self, path: impl AsRef<[u8]>) -> Result<()> {
        let path = path.as_ref();
        by_path!(async {
            let (dir, name) = self.parent(path).await?;
            self.mount.rmdir(&dir, &name).await
        })
        .map_err(|error| error.about(path))
    }

    /// Sets attributes of a file. Returns all its attributes afterwards.
    ///
    /// # Errors
    /// The error of the server.
    pub async fn set_attributes(&self, path: impl AsRef<[u8]>, set: &SetAttributes) -> Result<Attributes> {
        let path = path.as_ref();
        by_path!(async {
            let file = self.walk().run(path, Follow::Links).await?;
            self.mount.setattr(&file.handle, set).await
        })
        .map_err(|error| error.about(path))
    }
}

fn with_mode(mode: u32) -> SetAttributes {
    SetAttributes { mode: Some(mode), ..SetAttributes::default() }
}
