//! Whole files at once, and queries that need no open file.

use vfs::Space;

use super::Dir;
use crate::{Error, OpenOptions, Result, Status};

/// The most bytes requested at a time when a whole file is read.
const STEP_BYTES: u64 = 1 << 20;
/// The permission bits of a new file, as a umask of 022 leaves them.
const NEW_FILE_MODE: u32 = 0o644;

impl Dir {
    /// Reads all bytes of a file, like `tokio::fs::read`. They must fit in memory.
    ///
    /// # Errors
    /// As for [`Dir::open`] and [`File::read_at`](crate::File::read_at).
    pub async fn read(&self, path: impl AsRef<[u8]>) -> Result<Vec<u8>> {
        let path = path.as_ref();
        let file = self.open(path, &OpenOptions::read()).await?;
        let about = |error: Error| error.about(path);
        // The first step asks for one byte more than the length, which shows the end. The limit protects from a false
        // length.
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

    /// Replaces a file's contents with `data`, like `tokio::fs::write`, and brings it to the server's stable storage. A
    /// missing file is made with the permission bits 0o644. A future that is dropped early may leave a part of the
    /// data.
    ///
    /// # Errors
    /// As for [`Dir::open`], [`File::write_at`](crate::File::write_at) and [`File::close`](crate::File::close).
    pub async fn write(&self, path: impl AsRef<[u8]>, data: impl AsRef<[u8]>) -> Result<()> {
        let path = path.as_ref();
        let file = self.open(path, &OpenOptions::write().replacing(NEW_FILE_MODE)).await?;
        let about = |error: Error| error.about(path);
        file.write_at(0, data.as_ref()).await.map_err(about)?;
        file.sync().await.map_err(about)?;
        file.close().await.map_err(about)
    }

    /// Whether a file of that name exists, or for a symbolic link its target.
    ///
    /// # Errors
    /// As for [`Dir::lookup`], except [`Status::NoEntry`].
    pub async fn try_exists(&self, path: impl AsRef<[u8]>) -> Result<bool> {
        match self.metadata(path).await {
            Ok(_) => Ok(true),
            Err(error) if error.status() == Some(Status::NoEntry) => Ok(false),
            Err(error) => Err(error),
        }
    }

    /// The space of the directory's file system, like statvfs(3). NFSv2 does not tell the number of files.
    ///
    /// # Errors
    /// The error of the server.
    pub async fn space(&self) -> Result<Space> {
        self.mount.fsstat(&self.handle).await
    }
}
