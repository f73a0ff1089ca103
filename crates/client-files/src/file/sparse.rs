//! Holes: NFSv4.2 reads, finds, makes and fills them (RFC 7862).

use std::sync::atomic::Ordering;

use proto::nfs4::DataContent;

use super::File;
use super::retry::under_stateid;
use crate::{Mount, Result, Segments, Status, Version, v4};

/// What to look for in a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Extent {
    /// Bytes that were written.
    Data,
    /// Bytes that read as zeros, including those behind the end.
    Hole,
}

impl File {
    /// Reads up to `count` bytes, at most [`Sizes::read`](crate::Sizes::read). Holes are reported without their bytes.
    ///
    /// # Errors
    /// [`crate::Reason::NotInVersion`] before NFSv4.2; [`crate::Status::NotSupported`] from a server without READ_PLUS;
    /// other errors of the server.
    pub async fn read_plus(&self, offset: u64, count: u32) -> Result<Segments> {
        let open = self.opened_4_2("READ_PLUS")?;
        self.settle_for_reading().await;
        self.io.read_plus(open, offset, count).await
    }

    /// The offset of the next bytes of that kind, from `offset` on, or `None` if there are none. There is always a hole
    /// behind the end.
    ///
    /// # Errors
    /// [`crate::Reason::NotInVersion`] before NFSv4.2; [`crate::Status::NotSupported`] from a server without SEEK;
    /// [`crate::Status::NoDevice`] for an `offset` behind the end; other errors of the server. [`File::seek_data`] and
    /// [`File::seek_hole`] turn the first three into results like lseek(2)'s.
    pub async fn seek(&self, offset: u64, extent: Extent) -> Result<Option<u64>> {
        let open = self.opened_4_2("SEEK")?;
        let what = match extent {
            Extent::Data => DataContent::Data,
            Extent::Hole => DataContent::Hole,
        };
        under_stateid!(self, open, stateid => v4::seek(open.client(), self.handle(), stateid, offset, what))
    }

    /// The offset of data at `offset` or behind it, like lseek(2) with `SEEK_DATA`; `None`, for ENXIO, if there is none
    /// before the end. Where the server cannot tell, everything is data.
    ///
    /// # Errors
    /// The error of the server.
    pub async fn seek_data(&self, offset: u64) -> Result<Option<u64>> {
        self.seek_or(offset, Extent::Data, |_| offset).await
    }

    /// The offset of a hole at `offset` or behind it, like lseek(2) with `SEEK_HOLE`; the end of the file is one.
    /// `None`, for ENXIO, if `offset` is at the end or behind. Where the server cannot tell, the end is the only hole.
    ///
    /// # Errors
    /// The error of the server.
    pub async fn seek_hole(&self, offset: u64) -> Result<Option<u64>> {
        self.seek_or(offset, Extent::Hole, |size_bytes| size_bytes).await
    }

    /// Seeks. Without SEEK, the file counts as one without holes. The server needs all earlier writes first.
    async fn seek_or(&self, offset: u64, extent: Extent, otherwise: impl Fn(u64) -> u64) -> Result<Option<u64>> {
        self.flush().await?;
        if self.mount.has_seek() {
            match self.seek(offset, extent).await {
                Err(error) if error.status() == Some(Status::NotSupported) => self.mount.forgo_seek(),
                Err(error) if error.status() == Some(Status::NoDevice) => return Ok(None),
                // A SEEK at the very end may find a hole there (RFC 7862 §15.11.3).
                Ok(Some(found)) if extent == Extent::Hole && found == offset => return self.unless_end(offset).await,
                found => return found,
            }
        }
        let size_bytes = self.getattr().await?.size_bytes;
        Ok((offset < size_bytes).then(|| otherwise(size_bytes)))
    }

    /// A hole at `offset`, unless that is the end.
    async fn unless_end(&self, offset: u64) -> Result<Option<u64>> {
        Ok((offset < self.getattr().await?.size_bytes).then_some(offset))
    }

    /// Allocates space for `length` bytes from `offset` on, so that writes there cannot run out of space. The file
    /// grows if they are behind its end.
    ///
    /// # Errors
    /// [`crate::Reason::NotInVersion`] before NFSv4.2; the error of the server.
    pub async fn allocate(&self, offset: u64, length: u64) -> Result<()> {
        let open = self.opened_4_2("ALLOCATE")?;
        self.settle().await?;
        let _change = (self.mount.change([self.handle()]), self.passing());
        under_stateid!(self, open, stateid => v4::allocate(open.client(), self.handle(), stateid, offset, length))
    }

    /// Makes a hole of `length` bytes from `offset` on; the file keeps its length.
    ///
    /// # Errors
    /// [`crate::Reason::NotInVersion`] before NFSv4.2; the error of the server.
    pub async fn deallocate(&self, offset: u64, length: u64) -> Result<()> {
        let open = self.opened_4_2("DEALLOCATE")?;
        self.settle().await?;
        let _change = (self.mount.change([self.handle()]), self.passing());
        under_stateid!(self, open, stateid => v4::deallocate(open.client(), self.handle(), stateid, offset, length))
    }
}

impl Mount {
    /// Whether the server has SEEK: the version has it, and the server never refused it.
    fn has_seek(&self) -> bool {
        self.version() == Version::V4_2 && !self.0.is_without_seek.load(Ordering::Relaxed)
    }

    fn forgo_seek(&self) {
        self.0.is_without_seek.store(true, Ordering::Relaxed);
    }
}
