//! Reads and writes at any offset, in the caller's memory, through the mount's cache.

use std::io::{IoSlice, IoSliceMut};

use vfs::{ReadBytes, SetAttributes};

use super::{File, direct};
use crate::{Reason, Result, Status};

/// The longest file that POSIX' `off_t` can express.
const MAX_FILE_BYTES: u64 = i64::MAX as u64;

impl File {
    /// Fills `buffer` from `offset` on, unless the file ends before. Returns how many bytes were read. Any number of
    /// reads and writes may be in flight at once.
    ///
    /// # Errors
    /// The error of the server; [`Reason::Lie`] for an impossible reply; [`Status::Invalid`] for an `offset` over
    /// 2⁶³ − 1, where no file has bytes.
    pub async fn read_at(&self, offset: u64, buffer: &mut [u8]) -> Result<usize> {
        self.check_read(offset)?;
        match &self.data {
            Some(data) => data.read(offset, buffer).await,
            None => direct::read(&self.io, offset, buffer).await,
        }
    }

    /// Reads like [`File::read_at`], but leaves the bytes in the memory of their reply if one READ suffices and the
    /// read bypasses the cache.
    #[doc(hidden)]
    pub async fn read_lent(&self, offset: u64, buffer: &mut [u8]) -> Result<ReadBytes> {
        self.check_read(offset)?;
        let (count, max_count) = (buffer.len(), self.io.mount.sizes().read as usize);
        match &self.data {
            Some(data) if !data.passes(offset, count as u64) => data.read(offset, buffer).await.map(ReadBytes::Copied),
            _ if count <= max_count => {
                let bytes = direct::read_piece(&self.io, offset, count).await?;
                if let Some(data) = &self.data {
                    data.count_passed(bytes.len());
                }
                Ok(ReadBytes::Lent(Box::new(bytes)))
            }
            Some(data) => data.read(offset, buffer).await.map(ReadBytes::Copied),
            None => direct::read(&self.io, offset, buffer).await.map(ReadBytes::Copied),
        }
    }

    /// Fills several buffers one after another, like [`File::read_at`].
    ///
    /// # Errors
    /// As for [`File::read_at`].
    pub async fn read_vectored_at(&self, offset: u64, buffers: &mut [IoSliceMut<'_>]) -> Result<usize> {
        self.check_read(offset)?;
        match &self.data {
            Some(data) => data.read_vectored(offset, buffers).await,
            None => direct::read_vectored(&self.io, offset, buffers).await,
        }
    }

    /// Writes all of `data` at `offset`. Returns its length. A gap behind the end of the file reads as zeros.
    ///
    /// The data is sent later, together with its neighbours; [`File::sync`] waits for that. With
    /// [`Caching::is_synchronous`](crate::Caching::is_synchronous) or [`Caching::is_direct`](crate::Caching::is_direct)
    /// it is on the server's stable storage when this returns.
    ///
    /// # Errors
    /// The error of the server, for this write or an earlier one that was sent late; [`Status::FileTooBig`] if it would
    /// end behind byte 2⁶³ − 1.
    pub async fn write_at(&self, offset: u64, data: &[u8]) -> Result<usize> {
        self.write_as(offset, data, self.is_synchronous()).await
    }

    /// Writes like [`File::write_at`], and to stable storage if `is_stable`.
    #[doc(hidden)]
    pub async fn write_as(&self, offset: u64, data: &[u8], is_stable: bool) -> Result<usize> {
        self.take(offset, data, is_stable).await?;
        self.settle_if(is_stable).await?;
        Ok(data.len())
    }

    /// Takes `data` to be written later, or soon if it is urgent.
    async fn take(&self, offset: u64, data: &[u8], is_urgent: bool) -> Result<()> {
        self.io.check_kept("WRITE")?;
        self.check_end("WRITE", offset.checked_add(data.len() as u64))?;
        match &self.data {
            Some(cache) => cache.write(offset, data, is_urgent).await,
            None => direct::write(&self.io, offset, data).await,
        }
    }

    async fn settle_if(&self, is_stable: bool) -> Result<()> {
        if is_stable { self.settle().await } else { Ok(()) }
    }

    fn is_synchronous(&self) -> bool {
        self.mount.options().caching.is_synchronous
    }

    /// Writes several pieces of data one after another, like [`File::write_at`].
    ///
    /// # Errors
    /// As for [`File::write_at`].
    pub async fn write_vectored_at(&self, offset: u64, pieces: &[IoSlice<'_>]) -> Result<usize> {
        let count = pieces.iter().map(|piece| piece.len() as u64).sum();
        self.check_end("WRITE", offset.checked_add(count))?;
        let (mut done, last) = (0, pieces.len().saturating_sub(1));
        for (number, piece) in pieces.iter().enumerate() {
            let is_urgent = number == last && self.is_synchronous();
            self.take(offset + done as u64, piece, is_urgent).await?;
            done += piece.len();
        }
        self.settle_if(self.is_synchronous()).await?;
        Ok(done)
    }

    /// Sends all changed data to the server.
    ///
    /// # Errors
    /// The error of the server, once for each failed write.
    pub async fn flush(&self) -> Result<()> {
        match &self.data {
            Some(data) => data.finish(false).await,
            None => Ok(()),
        }
    }

    /// Brings all changed data to the server's stable storage.
    ///
    /// # Errors
    /// As for [`File::flush`].
    pub async fn sync(&self) -> Result<()> {
        match &self.data {
            Some(data) => data.flush(true).await,
            None => self.io.commit().await.map(drop),
        }
    }

    /// Truncates the file or extends it with zeros.
    ///
    /// # Errors
    /// The error of the server; [`Status::FileTooBig`] for more than 2⁶³ − 1 bytes.
    pub async fn set_len(&self, size_bytes: u64) -> Result<()> {
        self.check_end("SETATTR", Some(size_bytes))?;
        if let Some(data) = &self.data {
            return data.set_size(size_bytes).await;
        }
        let set = SetAttributes { size_bytes: Some(size_bytes), ..SetAttributes::default() };
        self.setattr(&set).await.map(drop)
    }

    /// Closes the file and releases its locks. Afterwards all changed data is on the server's stable storage, unless
    /// [`Caching::close_to_open`](crate::Caching::close_to_open) is off. A file that is dropped is closed in the
    /// background.
    ///
    /// # Errors
    /// The error of the server; the file is closed nonetheless.
    pub async fn close(self) -> Result<()> {
        let finished = match &self.data {
            Some(data) if self.mount.options().caching.close_to_open => data.finish(true).await,
            _ => Ok(()),
        };
        match (&self.open, &self.io.locks) {
            (Some(open), _) => finished.and(open.close().await),
            (None, Some(locks)) => finished.and(locks.close().await),
            (None, None) => finished,
        }
    }

    /// Refuses a read after a lock was lost, and one of an offset where no file has bytes.
    fn check_read(&self, offset: u64) -> Result<()> {
        self.io.check_kept("READ")?;
        let refusal = || self.mount.error("READ", Reason::Status(Status::Invalid));
        if offset > MAX_FILE_BYTES { Err(refusal()) } else { Ok(()) }
    }

    /// Refuses a length that no file can have.
    fn check_end(&self, operation: &'static str, end: Option<u64>) -> Result<()> {
        let refusal = || self.mount.error(operation, Reason::Status(Status::FileTooBig));
        if end.is_none_or(|end| end > MAX_FILE_BYTES) { Err(refusal()) } else { Ok(()) }
    }
}
