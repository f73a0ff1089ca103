//! Files of other servers, as NFSv4.2 COPY needs them (RFC 7862 §4.6); the owner of the sockets implements these
//! traits.

use std::fmt::Debug;
use std::net::SocketAddr;

use proto::nfs4::{FileHandle, Stateid};

/// Opens files on other servers.
pub trait RemoteFiles: Debug + Send + Sync {
    /// Whether files may be copied from the server at `address`. A client chose the address, so this must refuse
    /// whatever clients must not make the server connect to.
    fn may_reach(&self, address: SocketAddr) -> bool;

    /// Opens a file there under the stateid that COPY_NOTIFY returned. May block.
    ///
    /// # Errors
    /// When the file cannot be read; the copy fails then.
    fn open(&self, file: &RemoteName) -> Result<Box<dyn RemoteFile>, RemoteError>;
}

/// A file of another server.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RemoteName {
    /// The server's address.
    pub address: SocketAddr,
    /// The file's handle there.
    pub handle: FileHandle,
    /// The stateid to read it under.
    pub stateid: Stateid,
}

/// A file of another server.
pub trait RemoteFile: Send {
    /// Reads up to `count` bytes from `offset_bytes` on; none at the end of the file. May block.
    ///
    /// # Errors
    /// When reading fails; the copy fails then.
    fn read(&mut self, offset_bytes: u64, count: u32) -> Result<Vec<u8>, RemoteError>;
}

/// The reason why a file of another server cannot be read.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum RemoteError {
    /// The server cannot be reached, or does not support NFSv4.2.
    #[error("the other server cannot be reached with NFSv4.2")]
    Unreachable,
    /// The server refuses access to the file.
    #[error("the other server refuses")]
    Refused,
    /// The other server failed, or this one.
    #[error("reading failed")]
    Failed,
}
