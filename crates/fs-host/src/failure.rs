//! How a failed system call becomes an error of the file system.

use std::io;

use rustix::io::Errno;
use vfs::Error;

/// Names the error of a system call.
pub(crate) fn failed(errno: Errno) -> Error {
    Error::from(io::Error::from(errno))
}
