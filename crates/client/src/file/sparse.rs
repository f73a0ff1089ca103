//! Holes: NFSv4.2 reads, finds, makes and fills them (RFC 7862).

use std::sync::atomic::Ordering;

use bytes::Bytes;
use proto::nfs4::DataContent;

use super::File;
use super::retry::under_stateid;
use crate::{Mount, Result, Status, Version, v4};

/// A part of a file as READ_PLUS tells it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Segment {
    /// Bytes, in the memory that the reply was received into.
    Data {
        /// Where they begin, in bytes.
        offset: u64,
        /// The bytes.
        bytes: Bytes,
    },
    /// Bytes that read as zeros, and that the file has no room for.
    Hole {
        /// Where they begin, in bytes.
        offset: u64,
        /// How many they are.
        length: u64,
    },
}

/// What a READ_PLUS brought.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Segments {
    /// The segments, which follow on each other; they may tell of fewer bytes than were asked for.
    pub segments: Vec<Segment>,
    /// Whether the file ends with them.
    pub is_eof: bool,
}

/// What to look for in a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Extent {
    /// Bytes that were written.
    Data,
    /// Bytes that read as zeros, such as those behind the end.
    Hole,
}

impl File {
    /// Reads up to `count` bytes, at most [`Sizes::read`](crate::Sizes::read) of them, of which holes are only told.
    ///
    /// # Errors
    /// [`crate::Reason::NotInVersion`] before NFSv4.2; [`crate::Status::NotSupported`] where the server has no READ_PLUS; what else it says.
    pub async fn read_plus(&self, offset: u64, count: u32) -> Result<Segments> {
        let open = self.opened_4_2("READ_PLUS")?;
        self.settle_for_reading().await;
        self.io.read_plus(open, offset, count).await
    }

    /// Where the next bytes of that kind begin, from `offset` on, or `None` when there are none: there is always a hole
    /// behind the end.
    ///
    /// # Errors
    /// [`crate::Reason::NotInVersion`] before NFSv4.2; [`crate::Status::NotSupported`] where the server has no SEEK;
    /// [`crate::Status::NoDevice`] when `offset` is behind the end; what else the server says. [`File::seek_data`] and [`File::seek_hole`]
    /// make lseek(2)'s answers of all of them.
    pub async fn seek(&self, offset: u64, extent: Extent) -> Result<Option<u64>> {
        let open = self.opened_4_2("SEEK")?;
        let what = match extent {
            Extent::Data => DataContent::Data,
            Extent::Hole => DataContent::Hole,
        };
        under_stateid!(self, open, stateid => v4::seek(open.client(), self.handle(), stateid, (offset, what)))
    }

    /// Where data begins at `offset` or behind it, as lseek(2) says with `SEEK_DATA`; `None`, lseek's ENXIO, when there is none
    /// before the end. Where the server cannot tell, everything is data.
    ///
    /// # Errors
    /// What the server says.
    pub async fn seek_data(&self, offset: u64) -> Result<Option<u64>> {
        self.seek_or(offset, Extent::Data, |_| offset).await
    }

    /// Where a hole begins at `offset` or behind it, as lseek(2) says with `SEEK_HOLE`: the end of the file is one. `None`,
    /// lseek's ENXIO, when `offset` is there or behind. Where the server cannot tell, there is no other.
    ///
    /// # Errors
    /// What the server says.
    pub async fn seek_hole(&self, offset: u64) -> Result<Option<u64>> {
        self.seek_or(offset, Extent::Hole, |size_bytes| size_bytes).await
    }

    /// Seeks, in a file without holes where the server has no SEEK. It must know what was written before.
    async fn seek_or(&self, offset: u64, extent: Extent, otherwise: impl Fn(u64) -> u64) -> Result<Option<u64>> {
        self.flush().await?;
        if self.mount.has_seek() {
            match self.seek(offset, extent).await {
                Err(error) if error.status() == Some(Status::NotSupported) => self.mount.forgo_seek(),
                Err(error) if error.status() == Some(Status::NoDevice) => return Ok(None),
                // Whoever seeks at the very end may be told that it is a hole (RFC 7862 §15.11.3).
                Ok(Some(found)) if extent == Extent::Hole && found == offset => return self.unless_end(offset).await,
                found => return found,
            }
        }
        let size_bytes = self.getattr().await?.size_bytes;
        Ok((offset < size_bytes).then(|| otherwise(size_bytes)))
    }

    /// A hole at `offset` where that is not the end.
    async fn unless_end(&self, offset: u64) -> Result<Option<u64>> {
        Ok((offset < self.getattr().await?.size_bytes).then_some(offset))
    }

    /// Makes room for `length` bytes from `offset` on, so that writing them cannot fail for want of it; the file gets longer
    /// if they are behind its end.
    ///
    /// # Errors
    /// [`crate::Reason::NotInVersion`] before NFSv4.2; what the server says.
    pub async fn allocate(&self, offset: u64, length: u64) -> Result<()> {
        let open = self.opened_4_2("ALLOCATE")?;
        self.settle().await?;
        let _change = (self.mount.change([self.handle()]), self.passing());
        under_stateid!(self, open, stateid => v4::allocate(open.client(), self.handle(), stateid, (offset, length)))
    }

    /// Makes a hole of `length` bytes from `offset` on; the file stays as long as it is.
    ///
    /// # Errors
    /// [`crate::Reason::NotInVersion`] before NFSv4.2; what the server says.
    pub async fn deallocate(&self, offset: u64, length: u64) -> Result<()> {
        let open = self.opened_4_2("DEALLOCATE")?;
        self.settle().await?;
        let _change = (self.mount.change([self.handle()]), self.passing());
        under_stateid!(self, open, stateid => v4::deallocate(open.client(), self.handle(), stateid, (offset, length)))
    }
}

impl Mount {
    /// Whether the server can be asked where data and holes are: the version has SEEK, and it was never refused.
    fn has_seek(&self) -> bool {
        self.version() == Version::V4_2 && !self.0.is_without_seek.load(Ordering::Relaxed)
    }

    fn forgo_seek(&self) {
        self.0.is_without_seek.store(true, Ordering::Relaxed);
    }
}
