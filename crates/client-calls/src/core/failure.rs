use std::time::Duration;

/// Why a call has no reply.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Failure {
    /// The server did not answer in time.
    #[error(
        "no reply within {waited:.0?} to {sends} sends; check that the server runs, or wait longer with timeo, retrans or \
         hard in the URL"
    )]
    TimedOut {
        /// How often the call was sent.
        sends: u32,
        /// How long ago it was made.
        waited: Duration,
    },
    /// The server sent no valid record, so no later byte of the stream can be understood either.
    #[error("the server's stream is broken: {0}")]
    BrokenStream(#[from] rpc::record::Error),
    /// The connection was closed on this side.
    #[error("the connection was closed")]
    Closed,
}
