//! The system call that no safe wrapper covers: a shared mapping. Everything `unsafe` of this crate is here.

use std::fs::File;
use std::io;

use memmap2::{MmapMut, MmapOptions};

/// Maps the first `length` bytes of `file` for reading and writing. What is stored there survives the process.
///
/// The file must stay that long, and its file system must have a block for each of its bytes: an access without one
/// ends the process with SIGBUS.
pub(crate) fn map_shared(file: &File, length: usize) -> io::Result<MmapMut> {
    // SAFETY: bytes that another process changes may differ between two reads. Nobody else writes the file: it lies in
    // the state directory, which is locked for this process and closed to other users. Its bytes are checked as foreign
    // ones wherever they are read, so that no bytes make an access invalid.
    unsafe { MmapOptions::new().len(length).map_mut(file) }
}
