use std::io;
use std::path::PathBuf;

use crate::bench;

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
    /// A server's process cannot be started.
    #[error("cannot start {}: {source}", program.display())]
    Start {
        /// The program.
        program: PathBuf,
        /// What the system says.
        source: io::Error,
    },
    /// A server ended, or did not say where it listens; it has told why on standard error.
    #[error("the server for '{way}' did not start")]
    NoAddress {
        /// For which way.
        way: String,
    },
    /// A load cannot be made.
    #[error(transparent)]
    Bench(#[from] bench::Error),
    /// A READ failed.
    #[error("'{way}': {source}")]
    Operation {
        /// With which way.
        way: String,
        /// What the client says.
        source: client::Error,
    },
    /// A load ended without a single READ.
    #[error("a load ended without a single READ; let it run for longer")]
    Nothing,
}
