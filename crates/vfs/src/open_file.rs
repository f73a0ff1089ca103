use std::ops::{Range, RangeInclusive};

use crate::{Attributes, Context, Error, FileLock, LockOutcome, LockOwner, Result};

/// What a file is opened for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum OpenMode {
    /// For reading only.
    Read,
    /// For reading and writing.
    Write,
}

/// How safe written bytes are when the call returns, weakest first (RFC 1813 §3.3.7, `stable_how`).
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Stability {
    /// They may still be lost with the machine.
    Unstable,
    /// The bytes and what is needed to find them are on stable storage.
    Data,
    /// The bytes and all attributes are on stable storage.
    File,
}

/// What a write did.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Written {
    /// How many of the bytes were written.
    pub count: usize,
    /// How safe they are: at least what was asked for.
    pub stability: Stability,
}

/// What to look for in a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Seek {
    /// Bytes that may be other than zero.
    Data,
    /// Bytes that read as zeros and that no space is kept for. Every file has one behind its last byte.
    Hole,
}

/// Which bytes to copy where.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CopyRange {
    /// Where they begin in the source, in bytes.
    pub from_bytes: u64,
    /// Where they go in the destination, in bytes.
    pub to_bytes: u64,
    /// How many there are.
    pub length_bytes: u64,
}

/// A file of the operating system, kept open while a reply sends from it.
pub type HostFile = buffer::SharedFile;

/// Bytes in memory of a file system, for as long as somebody has this.
pub type LentBytes = Box<dyn AsRef<[u8]> + Send + Sync>;

/// An open regular file. It stays usable when its last name is removed, and several threads may use it at once.
pub trait OpenFile: Send + Sync {
    /// Reads from `offset_bytes` on into `into`, and says how many bytes that was. No file has bytes from offset 2⁶³ - 1 on.
    ///
    /// Fewer bytes than `into` holds means that the end of the file was met, and nothing else.
    ///
    /// # Errors
    /// [`Error::WouldBlock`](crate::Error::WouldBlock) when the bytes are not at hand and `cx` may not wait; whatever the
    /// storage says.
    fn read_at(&self, cx: &Context<'_>, offset_bytes: u64, into: &mut [u8]) -> Result<usize>;

    /// Reads at most `count_bytes` from `offset_bytes` on like [`OpenFile::read_at`], but gives the bytes in the memory that they have arrived in, where
    /// that saves moving them.
    ///
    /// `None`, as without an override, means that nothing was read and that [`OpenFile::read_at`] is the way.
    ///
    /// # Errors
    /// Those of [`OpenFile::read_at`].
    fn read_lent(&self, cx: &Context<'_>, offset_bytes: u64, count_bytes: usize) -> Result<Option<LentBytes>> {
        let _ = (cx, offset_bytes, count_bytes);
        Ok(None)
    }

    /// Writes `data` from `offset_bytes` on, extending the file where needed, at least as safely as `stability`.
    ///
    /// # Errors
    /// An error means that nothing of `data` may be relied on; a part that was written is a success with a small count.
    /// [`Error::ReadOnly`] without an override.
    fn write_at(&self, cx: &Context<'_>, offset_bytes: u64, data: &[u8], stability: Stability) -> Result<Written> {
        let _ = (cx, offset_bytes, data, stability);
        Err(Error::ReadOnly)
    }

    /// Writes `parts`, one right behind the other, from `offset_bytes` on, as [`OpenFile::write_at`] writes them together. Says how many
    /// bytes of them all were written.
    ///
    /// # Errors
    /// As [`OpenFile::write_at`]; without an override the parts are written one by one, and an error of a later one only ends them.
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

    /// Brings everything that was written to this file, by whomever, to stable storage.
    ///
    /// # Errors
    /// An error means that earlier unstable writes may be lost: the server then changes its write verifier. Without an
    /// override there is nothing to bring anywhere, as nothing can be written.
    fn sync(&self, cx: &Context<'_>) -> Result<()> {
        let _ = cx;
        Ok(())
    }

    /// Where the next data or hole begins at or after `offset_bytes`, or `None` when there is none before the end of the
    /// file or the file ends before `offset_bytes`.
    ///
    /// All bytes up to data that was found were a hole at one moment of the call. Of a file without holes, and where holes
    /// are not known, all bytes are data.
    ///
    /// # Errors
    /// [`Error::NotSupported`] without an override.
    fn seek(&self, cx: &Context<'_>, offset_bytes: u64, what: Seek) -> Result<Option<u64>> {
        let _ = (cx, offset_bytes, what);
        Err(Error::NotSupported)
    }

    /// Keeps space for a range of bytes, so that writing them later cannot fail for lack of it. Bytes that are there stay;
    /// a file that ends before the end of the range is extended with zeros.
    ///
    /// # Errors
    /// [`Error::NoSpace`], [`Error::FileTooBig`]; [`Error::NotSupported`] without an override.
    fn allocate(&self, cx: &Context<'_>, range_bytes: Range<u64>) -> Result<()> {
        let _ = (cx, range_bytes);
        Err(Error::NotSupported)
    }

    /// Gives back the space of a range of bytes, which read as zeros from then on. The size stays.
    ///
    /// # Errors
    /// [`Error::NotSupported`] without an override.
    fn deallocate(&self, cx: &Context<'_>, range_bytes: Range<u64>) -> Result<()> {
        let _ = (cx, range_bytes);
        Err(Error::NotSupported)
    }

    /// Copies bytes of another file, or of this one, into this one where that can be done without bringing them into the
    /// process. Says how many it copied, which may be fewer than asked for; 0 means that the source has ended.
    ///
    /// # Errors
    /// [`Error::NotSupported`] and [`Error::CrossDevice`] mean that the caller should read and write instead; without
    /// an override it is always the former.
    fn copy_range(&self, cx: &Context<'_>, from: &dyn OpenFile, range: CopyRange) -> Result<u64> {
        let _ = (cx, from, range);
        Err(Error::NotSupported)
    }

    /// Makes this file share the space of a range of another one: all of it at one moment, or nothing. A length of 0 means
    /// everything up to the source's end, wherever that is at that moment.
    ///
    /// # Errors
    /// [`Error::Invalid`] where the range does not begin and end on blocks of the file system (its end may be the
    /// source's end), [`Error::CrossDevice`]; [`Error::NotSupported`] without an override.
    fn clone_range(&self, cx: &Context<'_>, from: &dyn OpenFile, range: CopyRange) -> Result<()> {
        let _ = (cx, from, range);
        Err(Error::NotSupported)
    }

    /// Takes a lock for `owner` if nobody else's is in the way; it does not wait for one to go. What this owner has locked there
    /// already is replaced. It keeps out other owners of this file system and, on a server, other clients.
    ///
    /// # Errors
    /// Whatever the storage says; [`Error::NotSupported`] without an override, and wherever
    /// [`Properties::locks`](crate::Properties::locks) is not set.
    fn lock(&self, cx: &Context<'_>, owner: LockOwner, lock: FileLock) -> Result<LockOutcome> {
        let _ = (cx, owner, lock);
        Err(Error::NotSupported)
    }

    /// Whether [`OpenFile::lock`] would take this lock now.
    ///
    /// # Errors
    /// Those of [`OpenFile::lock`].
    fn test_lock(&self, cx: &Context<'_>, owner: LockOwner, lock: FileLock) -> Result<LockOutcome> {
        let _ = (cx, owner, lock);
        Err(Error::NotSupported)
    }

    /// Gives up what `owner` has locked in `range_bytes`, which ends with `u64::MAX` for every byte there may ever be. What is not locked stays so.
    ///
    /// # Errors
    /// Those of [`OpenFile::lock`].
    fn unlock(&self, cx: &Context<'_>, owner: LockOwner, range_bytes: RangeInclusive<u64>) -> Result<()> {
        let _ = (cx, owner, range_bytes);
        Err(Error::NotSupported)
    }

    /// The attributes as they are now.
    ///
    /// # Errors
    /// Whatever the storage says.
    fn attributes(&self, cx: &Context<'_>) -> Result<Attributes>;

    /// The operating system's file behind this one, where there is one, so that bytes can be sent without a copy.
    fn host_file(&self) -> Option<HostFile> {
        None
    }

    /// Whether `length` bytes from `offset_bytes` on are in memory, so that a thread that must not wait can send them from
    /// [`OpenFile::host_file`]. A caller that asks reads them one way or the other.
    fn is_resident(&self, offset_bytes: u64, length: usize) -> bool {
        let _ = (offset_bytes, length);
        false
    }
}
