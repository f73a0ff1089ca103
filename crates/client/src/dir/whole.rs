//! Whole files at once, and questions that need no file.

use vfs::Space;

use super::Dir;
use crate::{Error, OpenOptions, Result, Status};

/// The most bytes that are asked for at a time when a whole file is read.
const STEP_BYTES: u64 = 1 << 20;
/// The permission bits of a file that is made: what a umask of 022 leaves.
const NEW_FILE_MODE: u32 = 0o644;

impl Dir {
    /// All bytes of a file, as `tokio::fs::read` gives them. They must fit in memory.
    ///
    /// # Errors
    /// As those of [`Dir::open`] and [`File::read_at`](crate::File::read_at).
    pub async fn read(&self, path: impl AsRef<[u8]>) -> Result<Vec<u8>> {
        let path = path.as_ref();
        let file = self.open(path, &OpenOptions::read()).await?;
        let about = |error: Error| error.about(path);
        // One byte more than there should be shows the end; a server that names a length is not believed further than a step.
        let step = (file.attributes().size_bytes.saturating_add(1)).clamp(1, STEP_BYTES) as usize;
        let mut bytes = Vec::new();
        loop {
            let start = bytes.len();
            bytes.resize(start + step, 0);
            let count = file.read_at(start as u64, &mut bytes[start..]).await.map_err(about)?;
            bytes.truncate(start + count);
            if count < step {
                file.close().await.map_err(about)?;
                return Ok(bytes);
            }
        }
    }

    /// Makes `data` all that there is in a file, as `tokio::fs::write` does. It is made with the permission bits 0644 if it is not there, and
    /// on the server's stable storage at the end. Whoever goes away before may leave a part of it.
    ///
    /// # Errors
    /// As those of [`Dir::open`], [`File::write_at`](crate::File::write_at) and [`File::close`](crate::File::close).
    pub async fn write(&self, path: impl AsRef<[u8]>, data: impl AsRef<[u8]>) -> Result<()> {
        let path = path.as_ref();
        let file = self.open(path, &OpenOptions::write().replacing(NEW_FILE_MODE)).await?;
        let about = |error: Error| error.about(path);
        file.write_at(0, data.as_ref()).await.map_err(about)?;
        file.sync().await.map_err(about)?;
        file.close().await.map_err(about)
    }

    /// Whether there is a file of that name; of a symbolic link, whether it leads to one.
    ///
    /// # Errors
    /// As those of [`Dir::lookup`], but for [`Status::NoEntry`].
    pub async fn try_exists(&self, path: impl AsRef<[u8]>) -> Result<bool> {
        match self.metadata(path).await {
            Ok(_) => Ok(true),
            Err(error) if error.status() == Some(Status::NoEntry) => Ok(false),
            Err(error) => Err(error),
        }
    }

    /// How full the file system is that this directory is in, as statvfs(3) tells it. Version 2 says nothing of the number of files.
    ///
    /// # Errors
    /// What the server says.
    pub async fn space(&self) -> Result<Space> {
        self.mount.fsstat(&self.handle).await
    }
}
