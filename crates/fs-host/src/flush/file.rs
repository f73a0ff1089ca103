use std::os::fd::BorrowedFd;

use super::failures::OpenFileId;

/// How much of a file is flushed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Depth {
    /// Its bytes, and what is needed to find them.
    Data,
    /// Everything.
    All,
}

/// A file to flush.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Flush<'f> {
    pub(crate) fd: BorrowedFd<'f>,
    pub(crate) depth: Depth,
    /// The open file, where others may use it too. Nobody waits for a flush by a descriptor of the caller's own: it
    /// takes no error from descriptors that were open before.
    pub(crate) of: Option<OpenFileId>,
}

impl<'f> Flush<'f> {
    /// A flush of everything of a file that the caller alone has open, or of a directory.
    pub(crate) fn all(fd: BorrowedFd<'f>) -> Flush<'f> {
        Flush { fd, depth: Depth::All, of: None }
    }
}
