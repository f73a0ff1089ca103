use std::io;
use std::path::PathBuf;

use crate::server::StartError;

/// Why the experiment has no result.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The file that is read cannot be made, or not be taken out of memory.
    #[error("{}: {source}", path.display())]
    File {
        /// The file or its directory.
        path: PathBuf,
        /// What the system says.
        source: io::Error,
    },
    /// The file does not leave memory, so that reading it would say nothing of the disk.
    #[error("{} stays in memory: take a directory on a disk", path.display())]
    Resident {
        /// The file.
        path: PathBuf,
    },
    /// A server does not run.
    #[error(transparent)]
    Server(#[from] StartError),
    /// The readers' thread cannot do its work.
    #[error("the readers cannot start: {0}")]
    Readers(#[source] io::Error),
    /// A READ failed.
    #[error("'{way}': {source}")]
    Operation {
        /// With which way.
        way: String,
        /// What the client says.
        source: client::Error,
    },
    /// The bytes that came are not those of the file.
    #[error("'{way}': {got} of {wanted} bytes were read: take a --bs that the server transfers at once")]
    Short {
        /// With which way.
        way: String,
        /// How many bytes came.
        got: u64,
        /// How many there are.
        wanted: u64,
    },
}
