//! The system calls that no safe wrapper covers: a shared mapping, and ignoring a signal. All `unsafe` code of this
//! crate is here.

use std::fs::File;
use std::io;

use memmap2::{MmapMut, MmapOptions};

/// Maps the first `length` bytes of `file` for reading and writing. Data stored there survives the process.
///
/// The file must stay that long, and its file system must have allocated every block: an access without a block kills
/// the process with SIGBUS.
pub(crate) fn map_shared(file: &File, length: usize) -> io::Result<MmapMut> {
    // SAFETY: another process could change bytes between two reads. But only this process writes the file: it is in the
    // state directory, which is locked for this process and closed to other users. Every read validates the bytes, so
    // no value makes an access invalid.
    unsafe { MmapOptions::new().len(length).map_mut(file) }
}

/// Ignores the signal of a write beyond the limit of file sizes (`ulimit -f`), which would end the process. The write
/// then fails.
pub(crate) fn ignore_file_size_signal() {
    // SAFETY: ignoring a signal runs no code of ours, and the call touches no memory of ours. It cannot fail: the
    // signal exists, and may be ignored.
    unsafe { libc::signal(libc::SIGXFSZ, libc::SIG_IGN) };
}
