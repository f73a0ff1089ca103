use std::io;
use std::path::PathBuf;

use super::FolderError;
use crate::bench;
use crate::cache::CacheError;
use crate::cgroup::GroupError;
use crate::contender::StartError;
use crate::mounted::MountError;
use crate::scratch::ScratchError;
use crate::tool::ToolError;

/// Why a run cannot begin or go on.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The folder of the run cannot be used.
    #[error(transparent)]
    Folder(#[from] FolderError),
    /// A server does not run.
    #[error(transparent)]
    Server(#[from] StartError),
    /// The directory for files and servers cannot be made.
    #[error(transparent)]
    Scratch(#[from] ScratchError),
    /// A loop device cannot be made.
    #[error(transparent)]
    Tool(#[from] ToolError),
    /// An export cannot be mounted.
    #[error(transparent)]
    Mount(#[from] MountError),
    /// A server cannot be limited to a part of a processor or of a disk.
    #[error(transparent)]
    Group(#[from] GroupError),
    /// A wire cannot be made.
    #[error(transparent)]
    Link(#[from] segments::link::LinkError),
    /// A file's pages are not in memory, or not out of it, as they must be.
    #[error(transparent)]
    Cache(#[from] CacheError),
    /// A file cannot be made or read.
    #[error("{}: {source}", path.display())]
    File {
        /// The file.
        path: PathBuf,
        /// What the system says.
        source: io::Error,
    },
    /// A load cannot be made.
    #[error(transparent)]
    Bench(#[from] bench::Error),
    /// The client failed while a server was made ready.
    #[error("'{server}' cannot be made ready: {source}")]
    Prepare {
        /// Which server.
        server: String,
        /// What the client says.
        source: client::Error,
    },
    /// A server does not do what a round needs of it.
    #[error("'{server}' cannot be made ready: {reason}")]
    Unready {
        /// Which server.
        server: String,
        /// What went wrong.
        reason: String,
    },
    /// A thread or a runtime cannot be made.
    #[error("cannot start a thread: {0}")]
    Thread(#[source] io::Error),
    /// The design and the way to do a pass do not fit together.
    #[error("experiment {name}: {problem}; this is a mistake in wharf, please report it")]
    Design {
        /// The experiment.
        name: String,
        /// What does not fit.
        problem: String,
    },
    /// Every pass of the first round failed.
    #[error("all passes failed; the last one: {reason}")]
    AllFailed {
        /// Why the last one did.
        reason: String,
    },
}

/// Why one pass has no figures. Any error turns into it, so that `?` does; the record keeps its text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PassError(pub String);

impl<E: std::error::Error> From<E> for PassError {
    fn from(error: E) -> PassError {
        let (mut text, mut source) = (error.to_string(), error.source());
        while let Some(cause) = source {
            let message = cause.to_string();
            if !text.contains(&message) {
                text = format!("{text}: {message}");
            }
            source = cause.source();
        }
        PassError(text)
    }
}
