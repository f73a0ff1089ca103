//! Where the data and the holes of an open file are, and the calls that change that or share it between files.
//!
//! All of them may wait for storage: seeking reads the file's map of extents and waits for writers.

use std::io;
use std::ops::Range;
use std::os::fd::{AsFd, BorrowedFd};

use rustix::fs::{FallocateFlags, SeekFrom};
use rustix::io::{Errno, retry_on_intr};
use vfs::{CopyRange, Error, OpenFile, Result, Seek};

use crate::failure::failed;
use crate::sys;

/// The most bytes that the kernel is asked to copy in one call, which nothing interrupts.
const MAX_COPY_BYTES: u64 = 64 << 20;

/// Where the next data or hole begins. The descriptor's own position moves, which nobody uses.
pub(crate) fn seek(file: BorrowedFd<'_>, offset_bytes: u64, what: Seek) -> Result<Option<u64>> {
    let from = match what {
        Seek::Data => SeekFrom::Data(offset_bytes),
        Seek::Hole => SeekFrom::Hole(offset_bytes),
    };
    match rustix::fs::seek(file, from) {
        Ok(found) => Ok(Some(found)),
        Err(Errno::NXIO) => Ok(None),
        Err(errno) => Err(failed(errno)),
    }
}

/// Keeps space for a range.
pub(crate) fn allocate(file: BorrowedFd<'_>, range_bytes: &Range<u64>) -> Result<()> {
    fallocate(file, FallocateFlags::empty(), range_bytes)
}

/// Makes a range a hole.
pub(crate) fn deallocate(file: BorrowedFd<'_>, range_bytes: &Range<u64>) -> Result<()> {
    fallocate(file, FallocateFlags::PUNCH_HOLE | FallocateFlags::KEEP_SIZE, range_bytes)
}

fn fallocate(file: BorrowedFd<'_>, flags: FallocateFlags, range_bytes: &Range<u64>) -> Result<()> {
    if i64::try_from(range_bytes.end).is_err() {
        return Err(Error::FileTooBig);
    }
    let length = range_bytes.end.saturating_sub(range_bytes.start);
    retry_on_intr(|| rustix::fs::fallocate(file, flags, range_bytes.start, length)).map_err(failed)
}

/// Lets the kernel copy between two files of the host.
pub(crate) fn copy(to: BorrowedFd<'_>, from: &dyn OpenFile, range: CopyRange) -> Result<u64> {
    let from = from.host_file().ok_or(Error::NotSupported)?;
    let length = usize::try_from(range.length_bytes.min(MAX_COPY_BYTES)).unwrap_or(usize::MAX);
    let (mut from_bytes, mut to_bytes) = (range.from_bytes, range.to_bytes);
    let from = from.as_fd();
    match rustix::fs::copy_file_range(from, Some(&mut from_bytes), to, Some(&mut to_bytes), length) {
        Ok(count) => Ok(count as u64),
        Err(errno) => Err(failed(errno)),
    }
}

/// Lets two files of the host share a range.
pub(crate) fn clone(to: BorrowedFd<'_>, from: &dyn OpenFile, range: CopyRange) -> Result<()> {
    let from = from.host_file().ok_or(Error::NotSupported)?;
    let from = from.as_fd();
    sys::clone_range(to, from, range).map_err(|error: io::Error| match error.raw_os_error() {
        // What a file system says that has no such call at all.
        Some(libc::ENOTTY) => Error::NotSupported,
        _ => error.into(),
    })
}
