use std::io;
use std::path::PathBuf;

use crate::bench;
use crate::server::StartError;

/// Why the experiment has no result.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The file that is read cannot be made.
    #[error("{}: {source}", path.display())]
    File {
        /// The directory.
        path: PathBuf,
        /// What the system says.
        source: io::Error,
    },
    /// A server does not run.
    #[error(transparent)]
    Server(#[from] StartError),
    /// A load cannot be made.
    #[error(transparent)]
    Bench(#[from] bench::Error),
    /// A READ failed.
    #[error("'{way}': {source}")]
    Operation {
        /// With which way.
        way: String,
        /// What the client says.
        source: bench::OperationError,
    },
    /// A load ended without a single READ.
    #[error("a load ended without a single READ; let it run for longer")]
    Nothing,
}
