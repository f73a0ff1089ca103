use std::io;
use std::path::{Path, PathBuf};

use client_files::{Error, Reason, Status};

/// Why a copy ended early.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum CopyError {
    /// The server, or the connection to it.
    #[error("{0}")]
    Remote(#[from] Error),
    /// This machine.
    #[error("{0}")]
    Local(#[from] LocalError),
    /// The target exists already.
    #[error("{}: exists already", path.escape_ascii())]
    Exists {
        /// The target.
        path: Vec<u8>,
    },
    /// The target exists and is another kind of file, which is never overwritten.
    #[error("{}: exists already and is another kind of file", path.escape_ascii())]
    OtherKind {
        /// The target.
        path: Vec<u8>,
    },
    /// The file would be copied onto itself.
    #[error("{}: the copy would be the file itself", path.escape_ascii())]
    Itself {
        /// The file.
        path: Vec<u8>,
    },
    /// The tree would be copied into itself, without end.
    #[error("{}: the copy is inside of what is copied", path.escape_ascii())]
    IntoItself {
        /// Where the walk met the copy.
        path: Vec<u8>,
    },
    /// The copy differs from the original.
    #[error("{}: the copy differs from the original at byte {offset}", path.escape_ascii())]
    Differs {
        /// The file.
        path: Vec<u8>,
        /// The offset of the first difference, in bytes.
        offset: u64,
    },
    /// The tree is deeper than any that a path can name, or has a loop.
    #[error("{}: more than {max} directories deep", path.escape_ascii())]
    TooDeep {
        /// The directory.
        path: Vec<u8>,
        /// The most directories.
        max: usize,
    },
    /// Extended attributes are to be kept, and one side does not support them, or not this one.
    #[error("{}: cannot keep {}: {source}", path.escape_ascii(), xattrs(name.as_deref()))]
    Xattrs {
        /// The file.
        path: Vec<u8>,
        /// The attribute with its prefix `user.`, if the error is about one.
        name: Option<Vec<u8>>,
        /// The error of the server or the system.
        source: io::Error,
    },
    /// The original became shorter while it was copied.
    #[error("{}: the file was truncated while it was copied", path.escape_ascii())]
    Shrank {
        /// The file.
        path: Vec<u8>,
    },
    /// The server lost unstable data repeatedly.
    #[error("{}: the server lost what was written {times} times", path.escape_ascii())]
    Lost {
        /// The file.
        path: Vec<u8>,
        /// How often.
        times: u32,
    },
    /// [`Stop`](super::Stop) ended the copy.
    #[error("stopped before everything was copied")]
    Stopped,
    /// Some files could not be copied and were reported to [`CopyOptions::on_failure`](super::CopyOptions::on_failure).
    /// All others were copied.
    #[error("{failed} files could not be copied")]
    Incomplete {
        /// How many.
        failed: u64,
    },
    /// A part of the copy panicked.
    #[error("a task of the copy ended: {0}")]
    Task(#[from] tokio::task::JoinError),
}

impl CopyError {
    /// Whether it makes sense to send the servers further requests.
    pub(super) fn leaves_servers_in_reach(&self) -> bool {
        match self {
            CopyError::Remote(error) => error.status().is_some(),
            _ => true,
        }
    }

    /// Whether every further file would fail likewise: the server is gone or has no room.
    pub fn ends_all(&self) -> bool {
        match self {
            CopyError::Remote(error) => match error.status() {
                Some(status) => matches!(status, Status::NoSpace | Status::Quota | Status::ReadOnly),
                None => !matches!(error.reason(), Reason::Lie(_) | Reason::BadReply(_)),
            },
            CopyError::Local(error) => is_without_room(&error.source),
            CopyError::Stopped | CopyError::Task(_) => true,
            _ => false,
        }
    }
}

fn is_without_room(error: &io::Error) -> bool {
    use io::ErrorKind::{QuotaExceeded, ReadOnlyFilesystem, StorageFull};
    matches!(error.kind(), StorageFull | QuotaExceeded | ReadOnlyFilesystem)
}

fn xattrs(name: Option<&[u8]>) -> String {
    match name {
        Some(name) => format!("the extended attribute {}", name.escape_ascii()),
        None => "extended attributes".to_owned(),
    }
}

/// A failed operation on a file of this machine.
#[derive(Debug, thiserror::Error)]
#[error("{}: cannot {operation}: {source}", path.display())]
pub struct LocalError {
    /// The file.
    pub path: PathBuf,
    /// The operation.
    pub operation: &'static str,
    /// The error of the system.
    pub source: io::Error,
}

impl LocalError {
    /// Adds path and operation to a system error.
    pub(super) fn wrap<'p>(
        path: &'p Path,
        operation: &'static str,
    ) -> impl Fn(io::Error) -> LocalError + Clone + use<'p> {
        move |source| LocalError { path: path.to_owned(), operation, source }
    }
}
