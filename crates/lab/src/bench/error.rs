use std::io;
use std::path::PathBuf;

use client::Version;

use crate::process;

/// Why a job cannot be done, or could not be finished.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// A number of the job is not one that it can be.
    #[error("{what} is {value}; it can be {min} to {max}")]
    Range {
        /// Which number.
        what: &'static str,
        /// What it is.
        value: u64,
        /// The least that it can be.
        min: u64,
        /// The most that it can be.
        max: u64,
    },
    /// No operation fits into the file, or no file system has files of this size.
    #[error(
        "a file of {file_bytes} bytes (--size) does not fit operations of {block_bytes} bytes (--bs): at least one must \
         fit into it, and no file can be larger than 8 EiB"
    )]
    FileSize {
        /// The bytes of the file to use.
        file_bytes: u64,
        /// The bytes of an operation.
        block_bytes: u32,
    },
    /// Whoever was to start the job gave it up.
    #[error("the job was given up before its start")]
    NotStarted,
    /// The file exists, and the job would change it.
    #[error(
        "{0} exists, and this workload would change its contents: name a directory or a new file, or allow that with \
         --overwrite"
    )]
    Exists(String),
    /// The file exists, may not be changed, and has too few bytes.
    #[error(
        "{file} has {size_bytes} bytes, and {wanted_bytes} are to be read: choose a smaller --size and --bs, name a \
         directory or a new file, or have this one filled with --overwrite"
    )]
    TooShort {
        /// The file.
        file: String,
        /// The bytes that it has.
        size_bytes: u64,
        /// The bytes that the job needs.
        wanted_bytes: u64,
    },
    /// The file could not be made.
    #[error("{file}: {} ({})", error.reason(), error.operation())]
    File {
        /// Its URL.
        file: String,
        /// What the client says. Not a source: the message has all of it.
        error: client::Error,
    },
    /// The block size is not a multiple of 8.
    #[error("a block of {0} bytes is not possible: it must be 8 bytes or a multiple of that")]
    BlockSize(u32),
    /// The server does not transfer a whole block at once.
    #[error("the server transfers at most {max} bytes at once, and the blocks have {block_bytes}")]
    TransferSize {
        /// The bytes of a block.
        block_bytes: u32,
        /// What the server transfers.
        max: u32,
    },
    /// The version does not have the operation.
    #[error(
        "the workload {workload} requires NFSv{since}, and the server is used over NFSv{version}: choose --version {since}"
    )]
    Version {
        /// The workload.
        workload: String,
        /// The oldest version that has it.
        since: Version,
        /// The version in use.
        version: Version,
    },
    /// The workload has no bytes that could be checked.
    #[error("the workload {0} cannot be verified: reading and writing can")]
    Verify(String),
    /// The workload has no blocks, or one size of them.
    #[error("{what} does not apply to the workload {workload}: reads, writes and mix have blocks of several sizes")]
    NoBlocks {
        /// The option.
        what: &'static str,
        /// The workload.
        workload: String,
    },
    /// Nothing is written.
    #[error("--fsync requires a workload that writes, such as randwrite, and {0} does not")]
    NothingToCommit(String),
    /// Blocks in sequence are used equally often.
    #[error(
        "the workload {0} uses its blocks one after the other: a random distribution requires a workload such as \
         randread"
    )]
    NotRandom(String),
    /// The workload cannot use many files.
    #[error("the workload {0} cannot be spread over many files: read, randread, getattr, access, lookup and lock can")]
    Spread(String),
    /// The job has to call a server.
    #[error("{0} works over a connection to a server: name a URL, not a path of this machine")]
    NotLocal(String),
    /// The file is there and has something in it, and would have to be made of holes.
    #[error("{0} is not empty: name a directory, or a file that is not there, for a workload with holes")]
    NotEmpty(String),
    /// The file is something else than a regular file or a directory.
    #[error("{0} is neither a regular file nor a directory")]
    Kind(String),
    /// The client failed before or after the measurement.
    #[error("{0}")]
    Client(#[from] client::Error),
    /// What the file was filled with may be lost.
    #[error(transparent)]
    Operation(#[from] OperationError),
    /// [`Stop`](super::Stop) ended the job before anything was measured.
    #[error("stopped before anything was measured")]
    Stopped,
    /// The server's process cannot be looked at.
    #[error("server process: {0}")]
    Process(#[from] process::Error),
    /// A runtime cannot be made, or a thread not started.
    #[error("cannot start a thread: {0}")]
    Thread(#[source] io::Error),
    /// The timer of an open loop cannot be made.
    #[error("cannot make a timer: {0}")]
    Timer(#[source] io::Error),
    /// A thread ended without a result, which a bug of this program would do.
    #[error("a thread of the benchmark ended without a result")]
    ThreadDied,
    /// Bytes came back that are not those that were written.
    #[error("verification: {count} blocks are wrong; the first is at byte {offset_bytes}")]
    Mismatch {
        /// How many blocks.
        count: u64,
        /// Where the first one is.
        offset_bytes: u64,
    },
}

/// Why an operation failed.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum OperationError {
    /// The client says why.
    #[error(transparent)]
    Client(#[from] client::Error),
    /// A system call failed.
    #[error("{}: {source}", path.display())]
    Local {
        /// The file.
        path: PathBuf,
        /// What the system says.
        source: io::Error,
    },
    /// The server's write verifier changed before these writes were on stable storage (RFC 1813 §3.3.21).
    #[error(
        "the server restarted or failed to store data (its write verifier changed), and {writes} writes may be lost; \
         run the benchmark again, with --sync if each write must be stable"
    )]
    Lost {
        /// How many.
        writes: u64,
    },
}
