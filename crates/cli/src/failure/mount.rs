use std::io;
use std::path::PathBuf;

use crate::mount::options::OptionError;

/// Why mounting failed, or unmounting.
#[derive(Debug, thiserror::Error)]
pub enum MountFailure {
    /// An option is wrong.
    #[error(transparent)]
    Option(#[from] OptionError),
    /// The source is not a directory.
    #[error("{0}: is not a directory; only directories can be mounted")]
    NotDirectory(String),
    /// It is there already.
    #[error("{origin} is mounted on {} already; unmount it first, or choose another directory", dir.display())]
    Already {
        /// The source.
        origin: String,
        /// Where.
        dir: PathBuf,
    },
    /// The process that served the mount is gone.
    #[error(
        "{}: the process that served this mount has ended, and what it had not sent yet is lost; unmount it with \
         `umount -l {}` (ordinary users: `fusermount3 -uz {}`), even while files on it are open, and try again",
        .0.display(), .0.display(), .0.display()
    )]
    Orphaned(PathBuf),
    /// The file system could not be mounted.
    #[error(transparent)]
    Mount(#[from] mount::MountError),
    /// The background process has ended and printed why.
    #[error("mounting failed")]
    Daemon,
    /// The background process cannot be started.
    #[error("cannot start the process that serves the mount: {0}; try --foreground, which starts none")]
    Start(#[source] io::Error),
}
