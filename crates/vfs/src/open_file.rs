use std::ops::{Range, RangeInclusive};

use crate::{Attributes, Context, Error, FileLock, LockOutcome, LockOwner, Result};

/// The access mode of an open file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum OpenMode {
    /// For reading only.
    Read,
    /// For reading and writing.
    Write,
}

/// How durable written data are when the call returns, weakest first (RFC 1813 §3.3.7, `stable_how`).
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Stability {
    /// A crash of the machine may lose them.
    Unstable,
    /// The data and the metadata to find them are on stable storage.
    Data,
    /// The data and all attributes are on stable storage.
    File,
}

/// What a write did.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Written {
    /// How many of the bytes were written.
    pub count: usize,
    /// How durable they are: at least as requested.
    pub stability: Stability,
}

/// What to seek in a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Seek {
    /// Data: bytes that may differ from zero.
    Data,
    /// A hole: bytes that read as zeros and have no space allocated. Every file has one behind its last byte.
    Hole,
}

/// A range to copy.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CopyRange {
    /// The offset in the source.
    pub from_bytes: u64,
    /// The offset in the destination.
    pub to_bytes: u64,
    /// How many there are.
    pub length_bytes: u64,
}

/// A file of the operating system, kept open while a reply sends from it.
pub type HostFile = buffer::SharedFile;

/// Memory of a file system that stays valid until this is dropped.
pub type LentBytes = Box<dyn AsRef<[u8]> + Send + Sync>;

/// Where the bytes of a read are.
pub enum ReadBytes {
    /// In the caller's buffer: this many, at its start.
    Copied(usize),
    /// In memory of the file system, at most as many as the caller's buffer holds. The buffer's bytes are undefined.
    Lent(LentBytes),
}

/// An open regular file. It stays usable after its last name is removed, and several threads may use it at once.
pub trait OpenFile: Send + Sync {
    /// Reads from `offset_bytes` on into `into`, and returns the number of bytes. No file has bytes from offset 2⁶³ - 1
    /// on.
    ///
    /// A short read always means the end of the file.
    ///
    /// # Errors
    /// [`Error::WouldBlock`](crate::Error::WouldBlock) when the bytes are not cached and `cx` may not wait; those of
    /// the storage.
    fn read_at(&self, cx: &Context<'_>, offset_bytes: u64, into: &mut [u8]) -> Result<usize>;

    /// Reads like [`OpenFile::read_at`], but returns the file system's own memory where that saves the copy into
    /// `into`.
    ///
    /// # Errors
    /// Those of [`OpenFile::read_at`].
    fn read_lent(&self, cx: &Context<'_>, offset_bytes: u64, into: &mut [u8]) -> Result<ReadBytes> {
        self.read_at(cx, offset_bytes, into).map(ReadBytes::Copied)
    }

    /// Writes `data` from `offset_bytes` on, extends the file if necessary, and makes it at least as durable as
    /// `stability`.
    ///
    /// # Errors
    /// After an error, none of `data` can be relied on; a partial write is a success with a small count.
    /// [`Error::ReadOnly`] without an override.
    fn write_at(&self, cx: &Context<'_>, offset_bytes: u64, data: &[u8], stability: Stability) -> Result<Written> {
        let _ = (cx, offset_bytes, data, stability);
        Err(Error::ReadOnly)
    }

    /// Writes `parts`, one after the other, from `offset_bytes` on, like one [`OpenFile::write_at`]. Returns the total
    /// number of bytes written.
    ///
    /// # Errors
    /// As [`OpenFile::write_at`]. Without an override, the parts are written one by one, and an error of a later part
    /// only ends the write.
    fn write_parts_at(
        &self,
        cx: &Context<'_>,
        offset_bytes: u64,
        parts: &[&[u8]],
        stability: Stability,
    ) -> Result<Written> {
        let mut all = Written { count: 0, stability };
        for part in parts {
            match self.write_at(cx, offset_bytes + all.count as u64, part, stability) {
                Ok(written) => {
                    all.count += written.count;
                    if written.count < part.len() {
                        break;
                    }
                }
                Err(error) if all.count == 0 => return Err(error),
                Err(_) => break,
            }
        }
        Ok(all)
    }

    /// Flushes all data written to this file to stable storage, whoever wrote it.
    ///
    /// # Errors
    /// An error means that earlier unstable writes may be lost: the server then changes its write verifier. Without an
    /// override nothing is done, because nothing can be written.
    fn sync(&self, cx: &Context<'_>) -> Result<()> {
        let _ = cx;
        Ok(())
    }

    /// Flushes nothing, but fails when storage has lost data that were written to this file since its last flush:
    /// reads may return others then. Each loss is reported once.
    ///
    /// # Errors
    /// As of [`OpenFile::sync`]. Without an override there are none.
    fn check_written(&self, cx: &Context<'_>) -> Result<()> {
        let _ = cx;
        Ok(())
    }

    /// The start of the next data or hole at or after `offset_bytes`. `None` if there is none before the end of the
    /// file, or the file ends before `offset_bytes`.
    ///
    /// All bytes before the data found were a hole at one moment of the call. If the file has no holes, or they are
    /// unknown, all bytes are data.
    ///
    /// # Errors
    /// [`Error::NotSupported`] without an override.
    fn seek(&self, cx: &Context<'_>, offset_bytes: u64, what: Seek) -> Result<Option<u64>> {
        let _ = (cx, offset_bytes, what);
        Err(Error::NotSupported)
    }

    /// Allocates space for a range of bytes, so that later writes cannot fail for lack of it. Existing bytes stay; a
    /// file that ends within the range is extended with zeros.
    ///
    /// # Errors
    /// [`Error::NoSpace`], [`Error::FileTooBig`]; [`Error::NotSupported`] without an override.
    fn allocate(&self, cx: &Context<'_>, range_bytes: Range<u64>) -> Result<()> {
        let _ = (cx, range_bytes);
        Err(Error::NotSupported)
    }

    /// Frees the space of a range of bytes, which then read as zeros. The size stays.
    ///
    /// # Errors
    /// [`Error::NotSupported`] without an override.
    fn deallocate(&self, cx: &Context<'_>, range_bytes: Range<u64>) -> Result<()> {
        let _ = (cx, range_bytes);
        Err(Error::NotSupported)
    }

    /// Copies bytes of another file, or of this one, into this one without moving them through the process. Returns how
    /// many it copied, which may be fewer than requested; 0 means that the source has ended.
    ///
    /// # Errors
    /// [`Error::NotSupported`], the default, and [`Error::CrossDevice`] mean that the caller should read and write
    /// instead.
    fn copy_range(&self, cx: &Context<'_>, from: &dyn OpenFile, range: CopyRange) -> Result<u64> {
        let _ = (cx, from, range);
        Err(Error::NotSupported)
    }

    /// Clones a range of another file: the files share the space. It is atomic. A length of 0 means up to the source's
    /// end at that moment.
    ///
    /// # Errors
    /// [`Error::Invalid`] if the range does not begin and end at blocks of the file system (it may end at the source's
    /// end), [`Error::CrossDevice`]; [`Error::NotSupported`] without an override.
    fn clone_range(&self, cx: &Context<'_>, from: &dyn OpenFile, range: CopyRange) -> Result<()> {
        let _ = (cx, from, range);
        Err(Error::NotSupported)
    }

    /// Takes a lock for `owner` if it conflicts with no other owner's; does not wait. Replaces the owner's locks in
    /// this range. It excludes other owners of this file system and, on a server, other clients.
    ///
    /// # Errors
    /// Those of the storage; [`Error::NotSupported`] without an override, and if
    /// [`Properties::locks`](crate::Properties::locks) is not set.
    fn lock(&self, cx: &Context<'_>, owner: LockOwner, lock: FileLock) -> Result<LockOutcome> {
        let _ = (cx, owner, lock);
        Err(Error::NotSupported)
    }

    /// Whether [`OpenFile::lock`] would grant this lock now.
    ///
    /// # Errors
    /// Those of [`OpenFile::lock`].
    fn test_lock(&self, cx: &Context<'_>, owner: LockOwner, lock: FileLock) -> Result<LockOutcome> {
        let _ = (cx, owner, lock);
        Err(Error::NotSupported)
    }

    /// Releases the locks of `owner` in `range_bytes`, which ends at `u64::MAX` for the rest of the file. Ranges
    /// without a lock are no error.
    ///
    /// # Errors
    /// Those of [`OpenFile::lock`].
    fn unlock(&self, cx: &Context<'_>, owner: LockOwner, range_bytes: RangeInclusive<u64>) -> Result<()> {
        let _ = (cx, owner, range_bytes);
        Err(Error::NotSupported)
    }

    /// The current attributes.
    ///
    /// # Errors
    /// Those of the storage.
    fn attributes(&self, cx: &Context<'_>) -> Result<Attributes>;

    /// The operating system's file behind this one, if there is one, so that data can be sent without a copy.
    fn host_file(&self) -> Option<HostFile> {
        None
    }

    /// Whether `length` bytes from `offset_bytes` on are in memory, so that a thread that must not wait can send them
    /// from [`OpenFile::host_file`]. A caller that asks then reads them in any case.
    fn is_resident(&self, offset_bytes: u64, length: usize) -> bool {
        let _ = (offset_bytes, length);
        false
    }

    /// Evicts a range of bytes from memory, so that the next read shows what storage has. Returns whether nothing of it
    /// is left there: dirty, mapped and locked bytes stay. `false`, the default, if that is unknown.
    fn evict(&self, range_bytes: Range<u64>) -> bool {
        let _ = range_bytes;
        false
    }
}
