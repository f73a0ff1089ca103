//! Files of other servers, as COPY of NFSv4.2 needs them (RFC 7862 §4.6): whoever has sockets reads them.

use std::fmt::Debug;
use std::net::SocketAddr;

use proto::nfs4::{FileHandle, Stateid};

/// The way to other servers.
pub trait RemoteFiles: Debug + Send + Sync {
    /// Whether files may be copied from the server at `address`. It was a client that named it: what it may not make this server
    /// connect to must be refused here.
    fn may_reach(&self, address: SocketAddr) -> bool;

    /// Gets ready to read a file there, under what COPY_NOTIFY gave out there. May wait.
    ///
    /// # Errors
    /// Why the copy fails.
    fn open(&self, file: &RemoteName) -> Result<Box<dyn RemoteFile>, RemoteError>;
}

/// Which file of which server.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RemoteName {
    /// Where the server is.
    pub address: SocketAddr,
    /// What the server calls the file.
    pub handle: FileHandle,
    /// What it is read under.
    pub stateid: Stateid,
}

/// A file of another server.
pub trait RemoteFile: Send {
    /// Reads up to `count` bytes from `offset_bytes` on; none at the end of the file. May wait.
    ///
    /// # Errors
    /// Why the copy fails.
    fn read(&mut self, offset_bytes: u64, count: u32) -> Result<Vec<u8>, RemoteError>;
}

/// Why a file of another server is not read.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum RemoteError {
    /// The server cannot be reached, or does not speak NFSv4.2.
    #[error("the other server cannot be reached with NFSv4.2")]
    Unreachable,
    /// The server does not let this one read the file.
    #[error("the other server refuses")]
    Refused,
    /// The server failed, or this one.
    #[error("reading failed")]
    Failed,
}
