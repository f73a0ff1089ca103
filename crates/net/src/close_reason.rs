use std::{fmt, io};

use crate::{FrameError, ServiceError};

/// Why a connection was closed.
#[derive(Debug)]
#[non_exhaustive]
pub enum CloseReason {
    /// The peer closed it.
    Peer,
    /// It broke.
    Broken(io::Error),
    /// The peer's bytes make no sense as messages.
    BadFrame(FrameError),
    /// The service asked for it.
    Service(ServiceError),
    /// It was silent for too long.
    Idle,
    /// It left a message unfinished or its replies untaken for too long.
    Stalled,
    /// Too many were open, and its client has no exports or very many connections.
    Evicted,
    /// A file whose bytes were announced to the peer could not be read.
    File(io::Error),
    /// The service panicked on a message of it.
    Panic,
    /// The server was shut down.
    Shutdown,
}

impl fmt::Display for CloseReason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            CloseReason::Peer => f.write_str("the peer closed it"),
            CloseReason::Broken(error) => write!(f, "it broke: {error}"),
            CloseReason::BadFrame(why) => why.fmt(f),
            CloseReason::Service(why) => why.fmt(f),
            CloseReason::Idle => f.write_str("it was silent for too long"),
            CloseReason::Stalled => f.write_str("it left a message unfinished or its replies untaken for too long"),
            CloseReason::Evicted => {
                f.write_str("too many connections were open, and its client has no exports or very many connections")
            }
            CloseReason::File(error) => write!(f, "a file cannot be read: {error}"),
            CloseReason::Panic => f.write_str("the service panicked"),
            CloseReason::Shutdown => f.write_str("the server was shut down"),
        }
    }
}
