use std::io;
use std::path::PathBuf;

use crate::log::LogError;

/// Why a write log cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum WriteLogError {
    /// The log itself.
    #[error(transparent)]
    Log(#[from] LogError),
    /// The log belongs to another program.
    #[error("the log was not made by `wharf serve --write-log`; choose another path")]
    NotAWriteLog,
    /// The state directory cannot be used.
    #[error("cannot keep the write log's state in {}: {source}", path.display())]
    State {
        /// The directory.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// Another directory is exported under this name than when the records were written.
    #[error(
        "the write log has {records} changes of another directory that was exported as {export}; export that one again, \
         or drop its changes with `wharf log drain --discard`"
    )]
    OtherTree {
        /// The export.
        export: String,
        /// How many records there are.
        records: u64,
    },
    /// An export that has records is not served.
    #[error(
        "the write log has {records} changes of {export}, which is not exported now; export it, or run `wharf log replay`, \
         or drop its changes with `wharf log drain --discard`"
    )]
    Missing {
        /// The export.
        export: String,
        /// How many records there are.
        records: u64,
    },
    /// A record is invalid.
    #[error("a record of the write log cannot be read ({source}); was it written by a later version?")]
    Record {
        /// What is wrong with it.
        source: xdr::Error,
    },
    /// A change cannot be replayed.
    #[error(
        "cannot make changes of {export} again from the write log: {action}: {source}; the log keeps \
         them: repair the file system or make room on it, and start the server again"
    )]
    Replay {
        /// The export.
        export: String,
        /// What was tried.
        action: String,
        /// The error of the file system.
        source: vfs::Error,
    },
    /// Flushing an export's storage failed.
    #[error(
        "cannot bring {export} to storage: {source}; the log keeps its changes: repair the storage or make room on it, \
         and start the server again"
    )]
    Storage {
        /// The export.
        export: String,
        /// The error of the file system.
        source: vfs::Error,
    },
    /// Flushing an export's storage failed earlier, so that the log's records are required.
    #[error(
        "the storage of {export} has failed, and only the write log has what was lost; repair the storage, and start the \
         server again, which makes these changes again"
    )]
    Lost {
        /// The export.
        export: String,
    },
    /// No thread could be started.
    #[error("cannot start the thread that trims the write log: {0}")]
    Thread(io::Error),
}
