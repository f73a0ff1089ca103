use client::Version;

/// Why a capture cannot be replayed.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The file cannot be opened.
    #[error("cannot open the capture: {0}")]
    Open(#[source] std::io::Error),
    /// It cannot be read.
    #[error(transparent)]
    Trace(#[from] segments::trace::Error),
    /// It has no call that can be replayed.
    #[error("the capture has no call of NFSv3 or NFSv4 that can be replayed{}", behind(.0))]
    NothingToReplay(String),
    /// It has too many calls.
    #[error("the capture has more than {0} calls; divide it, for example with editcap -c")]
    TooManyCalls(usize),
    /// It has too many connections.
    #[error("the capture has more than {0} connections with NFS; extract those of some clients with tcpdump -r")]
    TooManyConnections(usize),
    /// So many bytes would have to be written before.
    #[error(
        "the capture reads {bytes} bytes of existing files, which the replay writes before; allow that with \
         --replay-size {bytes}"
    )]
    TooLarge {
        /// How many bytes.
        bytes: u64,
    },
    /// The server is used over another version.
    #[error("the capture is of NFSv{captured}, and the server is used over NFSv{here}: add --version {captured}")]
    Version {
        /// That of the capture.
        captured: Version,
        /// That of the mount.
        here: Version,
    },
    /// The URL is no directory.
    #[error("{0} is not a directory; a replay makes its files in one")]
    NotADirectory(String),
    /// A file of the replay could not be made.
    #[error("cannot make the files of the replay in {dir}: {source}")]
    Prepare {
        /// Their directory.
        dir: String,
        /// What the client says.
        source: client::Error,
    },
    /// The files of the replay could not be removed.
    #[error("cannot remove the files of the replay in {dir}: {source}; remove that directory")]
    Remove {
        /// Their directory.
        dir: String,
        /// What the client says.
        source: client::Error,
    },
    /// The client failed.
    #[error(transparent)]
    Client(#[from] client::Error),
    /// The replay was stopped before anything was measured.
    #[error("stopped before anything was measured")]
    Stopped,
    /// The client's processor time cannot be read.
    #[error("server process: {0}")]
    Process(#[from] crate::process::Error),
    /// A runtime cannot be made, or a thread not started.
    #[error("cannot start a thread: {0}")]
    Thread(#[source] std::io::Error),
    /// The timer cannot be made.
    #[error("cannot make a timer: {0}")]
    Timer(#[source] std::io::Error),
}

fn behind(remarks: &str) -> String {
    if remarks.is_empty() { String::new() } else { format!(": {remarks}") }
}
