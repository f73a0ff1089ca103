//! Access to one file of the log: mapped where that is safe, written otherwise.

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;

use memmap2::MmapMut;
use own_files::OwnDir;
use rustix::fs::{FallocateFlags, fallocate, fstatfs};
use rustix::io::Errno;

use crate::sys::map_shared;

/// The maximum size of a file, in bytes: some ten thousand replies.
pub(super) const FILE_BYTES: usize = 4 << 20;

const EXT_MAGIC: u32 = 0xef53;
const XFS_MAGIC: u32 = 0x5846_5342;
const TMPFS_MAGIC: u32 = 0x0102_1994;

/// A file of at most [`FILE_BYTES`].
#[derive(Debug)]
pub(super) enum LogFile {
    /// All of its blocks are allocated, so storing requires neither a system call nor space.
    Mapped(MmapMut),
    /// Storing may require space: the disk is full, or the file system allocates a new block for each change, as btrfs
    /// does. Storing to a mapping without space kills the process.
    Written(File),
}

impl LogFile {
    /// Opens the file, and allocates all its space if possible.
    pub(super) fn open(dir: &OwnDir, name: &str) -> io::Result<LogFile> {
        let file = dir.file(name)?;
        if !is_written_in_place(&file)? {
            return Ok(LogFile::Written(file));
        }
        let length_bytes = file.metadata()?.len();
        match fallocate(&file, FallocateFlags::empty(), 0, FILE_BYTES as u64) {
            Ok(()) => Ok(LogFile::Mapped(map_shared(&file, FILE_BYTES)?)),
            Err(Errno::OPNOTSUPP) => Ok(LogFile::Written(file)),
            Err(Errno::NOSPC | Errno::DQUOT) => {
                // A failed allocation may keep part of the space.
                file.set_len(length_bytes)?;
                Ok(LogFile::Written(file))
            }
            Err(error) => Err(error.into()),
        }
    }

    /// Stores bytes, which must end within [`FILE_BYTES`].
    pub(super) fn put(&mut self, at: usize, bytes: &[u8]) -> io::Result<()> {
        match self {
            LogFile::Mapped(map) => {
                map[at..at + bytes.len()].copy_from_slice(bytes);
                Ok(())
            }
            LogFile::Written(file) => file.write_all_at(bytes, at as u64),
        }
    }
}

/// Frees the space of an unmapped file behind its first `length` bytes. This needs no space itself.
pub(super) fn truncate(dir: &OwnDir, name: &str, length: usize) -> io::Result<()> {
    dir.file(name)?.set_len(length as u64)
}

/// Whether the file system changes allocated blocks in place.
fn is_written_in_place(file: &File) -> io::Result<bool> {
    Ok(matches!(fstatfs(file)?.f_type as u32, EXT_MAGIC | XFS_MAGIC | TMPFS_MAGIC))
}
