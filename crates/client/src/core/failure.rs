use std::time::Duration;

/// Why a call has no reply.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum Failure {
    /// The server did not answer in time.
    #[error("no reply after {sends} sends within {waited:?}")]
    TimedOut {
        /// How often the call was sent.
        sends: u32,
        /// How long ago it was made.
        waited: Duration,
    },
    /// What the server sent is no record, so no later byte of the stream can be understood either.
    #[error("the server's stream is broken: {0}")]
    BrokenStream(#[from] rpc::record::Error),
    /// The connection was closed on this side.
    #[error("the connection was closed")]
    Closed,
}
