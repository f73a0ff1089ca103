use std::io;

use crate::Origin;

/// The result of calls to a [`FileSystem`](crate::FileSystem).
pub type Result<T> = std::result::Result<T, Error>;

/// Why a call to a file system failed.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// Only the owner or root may do this (EPERM).
    #[error("operation not permitted")]
    NotPermitted,
    /// The permissions refuse it (EACCES).
    #[error("permission denied")]
    AccessDenied,
    /// Another file system begins at this name, see [`FileSystem::set_borders`](crate::FileSystem::set_borders).
    #[error("another export begins here")]
    Elsewhere(Box<Origin>),
    /// The name does not exist (ENOENT).
    #[error("no such file or directory")]
    NoEntry,
    /// The name exists already (EEXIST).
    #[error("file exists")]
    Exists,
    /// The two places are on different file systems (EXDEV).
    #[error("not on the same file system")]
    CrossDevice,
    /// There is no such device (ENXIO, ENODEV).
    #[error("no such device")]
    NoDevice,
    /// The file is not a directory, but must be one (ENOTDIR).
    #[error("not a directory")]
    NotDirectory,
    /// The file is a directory, but must not be one (EISDIR).
    #[error("is a directory")]
    IsDirectory,
    /// The file is of the wrong kind, for example a FIFO for a read, or a regular file for reading a link.
    #[error("wrong kind of file")]
    WrongKind,
    /// An argument is invalid (EINVAL).
    #[error("invalid argument")]
    Invalid,
    /// The file would exceed the maximum size (EFBIG).
    #[error("file too large")]
    FileTooBig,
    /// The file system is full (ENOSPC).
    #[error("no space left on device")]
    NoSpace,
    /// The user's quota is used up (EDQUOT).
    #[error("disk quota exceeded")]
    Quota,
    /// The file system is read-only (EROFS).
    #[error("read-only file system")]
    ReadOnly,
    /// The file has the maximum number of names (EMLINK).
    #[error("too many links")]
    TooManyLinks,
    /// The name is longer than the file system allows (ENAMETOOLONG).
    #[error("file name too long")]
    NameTooLong,
    /// The directory still has entries (ENOTEMPTY).
    #[error("directory not empty")]
    NotEmpty,
    /// The file is busy (EBUSY, ETXTBSY).
    #[error("file is busy")]
    Busy,
    /// The file of the handle was removed (ESTALE).
    #[error("stale file handle")]
    Stale,
    /// The handle does not belong to this file system.
    #[error("not a handle of this file system")]
    BadHandle,
    /// The cookie does not belong to this directory.
    #[error("not a cookie of this directory")]
    BadCookie,
    /// The file system cannot do this at all (EOPNOTSUPP, ENOSYS).
    #[error("operation not supported")]
    NotSupported,
    /// There is no room for another lock (ENOLCK).
    #[error("no locks available")]
    NoLocks,
    /// The call would have to wait, but must not; nothing has changed.
    #[error("the call would block")]
    WouldBlock,
    /// A temporary failure: the process is out of descriptors or memory, or the file is being fetched from slow
    /// storage.
    #[error("temporarily unavailable: {0}")]
    TryLater(#[source] io::Error),
    /// The storage failed, or returned another error.
    #[error("input/output error: {0}")]
    Io(#[source] io::Error),
}

impl Error {
    /// Whether the process or the system has too many open files (EMFILE, ENFILE): closing some helps.
    #[must_use]
    pub fn lacks_descriptors(&self) -> bool {
        matches!(self, Error::TryLater(source) if matches!(source.raw_os_error(), Some(23 | 24)))
    }
}

impl From<io::Error> for Error {
    /// Translates the errors of the operating system. The numbers are Linux's; those used here are equal on all
    /// architectures that Rust's standard library supports.
    fn from(error: io::Error) -> Self {
        match error.raw_os_error() {
            Some(1) => Error::NotPermitted,
            Some(2) => Error::NoEntry,
            Some(6 | 19) => Error::NoDevice,
            Some(11) => Error::WouldBlock,
            Some(13) => Error::AccessDenied,
            Some(12 | 23 | 24) => Error::TryLater(error),
            Some(16 | 26) => Error::Busy,
            Some(17) => Error::Exists,
            Some(18) => Error::CrossDevice,
            Some(20) => Error::NotDirectory,
            Some(21) => Error::IsDirectory,
            Some(22) => Error::Invalid,
            Some(27) => Error::FileTooBig,
            Some(28) => Error::NoSpace,
            Some(30) => Error::ReadOnly,
            Some(31) => Error::TooManyLinks,
            Some(36) => Error::NameTooLong,
            Some(37) => Error::NoLocks,
            Some(39) => Error::NotEmpty,
            Some(38 | 95) => Error::NotSupported,
            Some(40) => Error::WrongKind,
            Some(116) => Error::Stale,
            Some(122) => Error::Quota,
            _ => Error::Io(error),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn error_without_a_name_keeps_its_source() {
        let error = Error::from(io::Error::from_raw_os_error(5));
        assert!(matches!(error, Error::Io(source) if source.raw_os_error() == Some(5)));
    }

    #[test]
    fn running_out_of_descriptors_is_temporary() {
        let error = Error::from(io::Error::from_raw_os_error(24));
        assert!(matches!(error, Error::TryLater(_)) && error.lacks_descriptors());
        assert!(!Error::from(io::Error::from_raw_os_error(12)).lacks_descriptors());
    }
}
