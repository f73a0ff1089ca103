//! Successive entries of a directory, as the kernel gave them. A cookie is the kernel's own position behind an entry
//! (`d_off`), which ext4, XFS, Btrfs and tmpfs (since Linux 6.6) keep good for as long as the directory exists,
//! whatever is added to it or removed from it.

use std::ffi::CStr;
use std::mem::MaybeUninit;
use std::os::fd::BorrowedFd;

use rustix::fs::{RawDir, RawDirEntry, SeekFrom};
use rustix::io::Errno;
use vfs::{Error, FileKind, Result};

use super::MemoryShare;
use crate::attributes::kind_of;
use crate::failure::failed;

/// How much is taken from the kernel at once for a chunk that is kept, in bytes.
const KEPT_BYTES: usize = 32 * 1024;

/// The same for a chunk that serves one reply: about what one holds, since the rest is asked for again with the next
/// call.
const PASSING_BYTES: usize = 8 * 1024;

/// Entries of a directory, in its order.
#[derive(Debug)]
pub(crate) struct DirChunk {
    /// The cookie of the entry before the first one, or 0.
    start: u64,
    entries: Vec<ChunkEntry>,
    /// The names, each with a NUL behind it.
    names: Vec<u8>,
    is_last: bool,
    /// Whether each cookie is greater than the one before.
    is_ascending: bool,
    /// The least and the greatest cookie of the entries.
    range: (u64, u64),
    /// The memory that it takes while it is kept.
    pub(super) share: Option<MemoryShare>,
}

/// One entry, without its name.
#[derive(Debug, Clone, Copy)]
pub(crate) struct ChunkEntry {
    pub(crate) fileid: u64,
    pub(crate) cookie: u64,
    /// The kind of file, if the file system keeps it beside the name.
    pub(crate) kind: Option<FileKind>,
    name_start: u32,
    name_end: u32,
}

impl DirChunk {
    /// Reads what comes after a cookie; more of it if it is to be kept.
    pub(crate) fn read(dir: BorrowedFd<'_>, start: u64, is_kept: bool) -> Result<DirChunk> {
        go_to(dir, start)?;
        let max_bytes = if is_kept { KEPT_BYTES } else { PASSING_BYTES };
        let mut chunk = DirChunk::empty(start);
        let mut buffer = [const { MaybeUninit::uninit() }; KEPT_BYTES];
        let mut entries = RawDir::new(dir, &mut buffer[..max_bytes]);
        loop {
            match entries.next() {
                Some(entry) => chunk.add(&entry.map_err(|errno| refused(errno, start))?),
                None => chunk.is_last = true,
            }
            // The kernel fills the buffer as far as it goes, so a small directory needs a second look to see its end.
            let is_full = chunk.taken_bytes() + max_bytes / 4 > max_bytes;
            if chunk.is_last || (entries.is_buffer_empty() && is_full && !chunk.entries.is_empty()) {
                return Ok(chunk);
            }
        }
    }

    fn empty(start: u64) -> DirChunk {
        let (entries, names) = (Vec::new(), Vec::new());
        DirChunk { start, entries, names, is_last: false, is_ascending: true, range: (u64::MAX, 0), share: None }
    }

    /// The cookie of the entry before the first one.
    pub(super) fn start(&self) -> u64 {
        self.start
    }

    /// The entries after a cookie, if this chunk has the entry of the cookie, and something to say of what follows it.
    pub(crate) fn after(&self, cookie: u64) -> Option<&[ChunkEntry]> {
        if cookie == self.start {
            return Some(&self.entries);
        }
        if cookie < self.range.0 || cookie > self.range.1 {
            return None;
        }
        let index = match self.is_ascending {
            true => self.entries.binary_search_by_key(&cookie, |entry| entry.cookie).ok()?,
            false => self.entries.iter().position(|entry| entry.cookie == cookie)?,
        };
        let rest = &self.entries[index + 1..];
        (self.is_last || !rest.is_empty()).then_some(rest)
    }

    /// The name of one of the entries.
    pub(crate) fn name(&self, entry: &ChunkEntry) -> &CStr {
        let name = self.names.get(entry.name_start as usize..entry.name_end as usize).unwrap_or_default();
        CStr::from_bytes_with_nul(name).unwrap_or_default()
    }

    /// Where the next chunk starts, unless this is the last one.
    pub(crate) fn next(&self) -> Option<u64> {
        if self.is_last { None } else { self.entries.last().map(|entry| entry.cookie) }
    }

    /// How much memory it takes.
    pub(super) fn memory_bytes(&self) -> usize {
        size_of::<DirChunk>() + self.entries.capacity() * size_of::<ChunkEntry>() + self.names.capacity()
    }

    /// Gives back what is more than needed.
    pub(super) fn shrink(&mut self) {
        self.entries.shrink_to_fit();
        self.names.shrink_to_fit();
    }

    fn add(&mut self, entry: &RawDirEntry<'_>) {
        let name = entry.file_name().to_bytes_with_nul();
        if matches!(name, b".\0" | b"..\0") {
            return;
        }
        let (cookie, name_start) = (entry.next_entry_cookie(), self.names.len() as u32);
        self.is_ascending &= self.entries.last().is_none_or(|last| last.cookie < cookie);
        self.range = (self.range.0.min(cookie), self.range.1.max(cookie));
        self.names.extend_from_slice(name);
        self.entries.push(ChunkEntry {
            fileid: entry.ino(),
            cookie,
            kind: kind_of(entry.file_type()),
            name_start,
            name_end: self.names.len() as u32,
        });
    }

    /// How much of the kernel's buffer the entries took, about.
    fn taken_bytes(&self) -> usize {
        self.entries.len() * 24 + self.names.len()
    }
}

/// Puts the listing behind the entry of a cookie. The kernel counts in signed numbers.
fn go_to(dir: BorrowedFd<'_>, cookie: u64) -> Result<()> {
    if i64::try_from(cookie).is_err() {
        return Err(Error::BadCookie);
    }
    match rustix::fs::seek(dir, SeekFrom::Start(cookie)) {
        Ok(_) => Ok(()),
        Err(Errno::INVAL) => Err(Error::BadCookie),
        Err(errno) => Err(failed(errno)),
    }
}

/// ENOENT and EINVAL from a listing mean a directory that is gone or a position that is none.
fn refused(errno: Errno, cookie: u64) -> Error {
    match errno {
        Errno::NOENT => Error::Stale,
        Errno::INVAL if cookie != 0 => Error::BadCookie,
        _ => failed(errno),
    }
}
