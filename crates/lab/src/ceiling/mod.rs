//! The ceiling of any server: a responder that answers NFSv3 over TCP with next to no work.
//!
//! It has one file. It looks at a call's program and procedure, and at the offset and count of a READ, which end the
//! call; everything else of a call is ignored. All other replies are made once. One thread, one receive per connection
//! and turn, and all replies to it in one vectored send; the [`Way`] says how the data of READs come to it. A server
//! does all of this and more, so it is not faster.

mod batch;
mod call;
mod connection;
mod replies;
mod responder;
mod way;

use std::io;
use std::net::SocketAddr;
use std::path::PathBuf;

pub use responder::Responder;
pub use way::{Way, WayError};

/// Why the ceiling cannot be measured.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum CeilingError {
    /// The file cannot be used.
    #[error("{}: {source}; name a regular file that has data", path.display())]
    File {
        /// The file.
        path: PathBuf,
        /// What the system says.
        source: io::Error,
    },
    /// The address cannot be used.
    #[error("cannot listen on {address}: {source}; choose another address with --listen")]
    Listen {
        /// The address.
        address: SocketAddr,
        /// What the system says.
        source: io::Error,
    },
    /// The system refuses to wait for connections.
    #[error("cannot wait for connections: {0}")]
    Wait(#[source] io::Error),
}
