use std::io;
use std::path::PathBuf;

use crate::mount::options::OptionError;

/// Why a mount did not come about, or did not end well.
#[derive(Debug, thiserror::Error)]
pub enum MountFailure {
    /// An option makes no sense.
    #[error(transparent)]
    Option(#[from] OptionError),
    /// What is to be mounted is no directory.
    #[error("{0}: is not a directory; only directories can be mounted")]
    NotDirectory(String),
    /// It is there already.
    #[error("{origin} is mounted on {} already; unmount it first, or choose another directory", dir.display())]
    Already {
        /// What was to be mounted.
        origin: String,
        /// Where.
        dir: PathBuf,
    },
    /// There is a mount without the process that served it.
    #[error(
        "{}: the process that served this mount has ended; unmount it with `umount {}` (ordinary users: `fusermount3 \
         -u {}`) and try again",
        .0.display(), .0.display(), .0.display()
    )]
    Orphaned(PathBuf),
    /// The file system could not be mounted.
    #[error(transparent)]
    Mount(#[from] mount::MountError),
    /// The process that should have stayed has ended; it has said why.
    #[error("mounting failed")]
    Daemon,
    /// The process that stays cannot be started.
    #[error("cannot start the process that serves the mount: {0}; try --foreground, which starts none")]
    Start(#[source] io::Error),
}
