use std::io;
use std::path::PathBuf;

/// Why an export cannot be served.
#[derive(Debug, thiserror::Error)]
pub enum ExportError {
    /// The directory cannot be used.
    #[error(transparent)]
    Open(fs_host::OpenError),
    /// Clients could read and change the server's state, for example if a home directory is exported.
    #[error(
        "the server's state directory {} is inside the export, where clients could change it; choose another with \
         --state-dir DIR, or with state_dir in the configuration file",
        state_dir.display()
    )]
    StateInside {
        /// The state directory.
        state_dir: PathBuf,
    },
    /// Clients' files would be among the server's own.
    #[error(
        "the export is inside the server's state directory {}; export another directory, or choose another state \
         directory with --state-dir DIR, or with state_dir in the configuration file",
        state_dir.display()
    )]
    InsideState {
        /// The state directory.
        state_dir: PathBuf,
    },
    /// Clients could bypass the rules of one export through the other.
    #[error(
        "it overlaps {other} at another server, where this server cannot enforce different clients or options; give both \
         the same clients and options"
    )]
    Overlap {
        /// The name of the other export.
        other: String,
    },
    /// The URL of another server's directory is wrong.
    #[error(transparent)]
    BadUrl(#[from] client::UrlError),
    /// The directory of another server cannot be mounted.
    #[error(transparent)]
    Remote(#[from] client::Error),
    /// The other server does not answer.
    #[error("its server did not answer for {seconds} s; check that it runs and can be reached")]
    NoAnswer {
        /// How long it had.
        seconds: u64,
    },
    /// The URL does not name a directory.
    #[error("not a directory: only directories can be exported")]
    NotDirectory,
    /// The runtime of the client cannot be started.
    #[error("cannot start the client's runtime: {0}")]
    Runtime(#[source] io::Error),
    /// Clients could read and change the log.
    #[error(
        "the write log {} is inside the export, where clients could change it; choose another place", path.display())]
    WriteLogInside {
        /// The log.
        path: PathBuf,
    },
    /// The write log cannot be put in front of it.
    #[error(transparent)]
    WriteLog(#[from] stable::WriteLogError),
    /// The fault plan is invalid.
    #[error("invalid fault plan: {0}")]
    Faults(#[from] fs_fault::ParseError),
}

impl From<fs_host::OpenError> for ExportError {
    fn from(error: fs_host::OpenError) -> ExportError {
        match error {
            fs_host::OpenError::StateInside { state_dir, .. } => ExportError::StateInside { state_dir },
            fs_host::OpenError::InsideState { state_dir, .. } => ExportError::InsideState { state_dir },
            error => ExportError::Open(error),
        }
    }
}
