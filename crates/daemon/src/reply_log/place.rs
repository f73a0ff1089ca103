//! The bytes of one file of the log: mapped where that is safe, written otherwise.

use std::fs::{File, OpenOptions};
use std::io;
use std::os::unix::fs::{FileExt, OpenOptionsExt};
use std::path::Path;

use memmap2::MmapMut;
use rustix::fs::{FallocateFlags, fallocate, fstatfs};
use rustix::io::Errno;

use crate::sys::map_shared;

/// How large a file gets, in bytes: some ten thousand replies.
pub(super) const FILE_BYTES: usize = 4 << 20;

const EXT_MAGIC: u32 = 0xef53;
const XFS_MAGIC: u32 = 0x5846_5342;
const TMPFS_MAGIC: u32 = 0x0102_1994;

/// A file of [`FILE_BYTES`] at the most.
#[derive(Debug)]
pub(super) enum Place {
    /// All of its blocks are allocated, so that storing needs no system call and no space.
    Mapped(MmapMut),
    /// Storing may need space: on a disk that is full now, or on a file system that takes a new block for each change,
    /// as btrfs does. A store to a mapping without space ends the process.
    Written(File),
}

impl Place {
    /// Opens the file, with all the space that it needs where that can be had.
    pub(super) fn open(path: &Path) -> io::Result<Place> {
        let file = open(path)?;
        if !is_written_in_place(&file)? {
            return Ok(Place::Written(file));
        }
        let length_bytes = file.metadata()?.len();
        match fallocate(&file, FallocateFlags::empty(), 0, FILE_BYTES as u64) {
            Ok(()) => Ok(Place::Mapped(map_shared(&file, FILE_BYTES)?)),
            Err(Errno::OPNOTSUPP) => Ok(Place::Written(file)),
            Err(Errno::NOSPC | Errno::DQUOT) => {
                // A part of the space stays with the file otherwise.
                file.set_len(length_bytes)?;
                Ok(Place::Written(file))
            }
            Err(error) => Err(error.into()),
        }
    }

    /// Stores bytes, which end within [`FILE_BYTES`].
    pub(super) fn put(&mut self, at: usize, bytes: &[u8]) -> io::Result<()> {
        match self {
            Place::Mapped(map) => {
                map[at..at + bytes.len()].copy_from_slice(bytes);
                Ok(())
            }
            Place::Written(file) => file.write_all_at(bytes, at as u64),
        }
    }
}

/// Gives back what a file that nobody has mapped holds behind its first `length` bytes. This takes no space itself.
pub(super) fn truncate(path: &Path, length: usize) -> io::Result<()> {
    open(path)?.set_len(length as u64)
}

/// Brings to stable storage what was stored in a file, in a mapping too.
pub(super) fn sync(path: &Path) -> io::Result<()> {
    File::open(path)?.sync_data()
}

fn open(path: &Path) -> io::Result<File> {
    OpenOptions::new().read(true).write(true).create(true).truncate(false).mode(0o600).open(path)
}

/// Whether a block that is allocated is changed where it lies.
fn is_written_in_place(file: &File) -> io::Result<bool> {
    Ok(matches!(fstatfs(file)?.f_type as u32, EXT_MAGIC | XFS_MAGIC | TMPFS_MAGIC))
}
