//! How a failed system call becomes an error of the file system.

use std::io;

use rustix::io::Errno;
use vfs::Error;

/// Names the error of a system call.
pub(crate) fn failed(errno: Errno) -> Error {
    Error::from(io::Error::from(errno))
}

/// Whether an error says that no descriptor is left.
pub(crate) fn is_out_of_descriptors(error: &Error) -> bool {
    matches!(error, Error::TryLater(source)
        if matches!(source.raw_os_error(), Some(libc::EMFILE | libc::ENFILE)))
}
