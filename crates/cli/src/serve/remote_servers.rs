//! Reads files of other servers for COPY between servers, with this workspace's client of NFSv4.2.

use std::net::SocketAddr;
use std::time::Duration;

use client::v4::{Client, MinorVersion, Stateid};
use client::{Credentials, Data, Error, Handle, Options, Reason};
use config::CopySource;
use server::{RemoteError, RemoteFile, RemoteFiles, RemoteName};
use tokio::runtime::{Builder, Runtime};

/// The READ size: more than most servers return.
const READ_BYTES: u32 = 1 << 20;

/// The number of READs in flight.
const MAX_PENDING: usize = 4;

/// The time limit for ending a session.
const CLOSE: Duration = Duration::from_secs(2);

/// The servers that may be copied from. None is contacted before a client copies from it.
#[derive(Debug)]
pub struct RemoteServers {
    sources: Vec<CopySource>,
}

/// A file that is being copied, with its own session at its server.
struct Reading {
    runtime: Runtime,
    client: Client,
    file: Handle,
    stateid: Stateid,
}

impl RemoteServers {
    pub fn new(sources: Vec<CopySource>) -> RemoteServers {
        RemoteServers { sources }
    }
}

impl RemoteFiles for RemoteServers {
    fn may_reach(&self, address: SocketAddr) -> bool {
        self.sources.iter().any(|source| source.has(address))
    }

    fn open(&self, name: &RemoteName) -> Result<Box<dyn RemoteFile>, RemoteError> {
        let runtime = Builder::new_current_thread().enable_all().build().map_err(|error| {
            tracing::error!(%error, "cannot start to copy from another server");
            RemoteError::Failed
        })?;
        // The stateid identifies the client that authorized the read.
        let options = Options { credentials: Credentials::None, max_pending: MAX_PENDING, ..Options::default() };
        let server = name.address.ip().to_string();
        let connect = Client::connect(name.address, &server, MinorVersion::V2, &options);
        let client = runtime.block_on(connect).map_err(|error| {
            tracing::warn!(%error, "cannot copy from another server");
            RemoteError::Unreachable
        })?;
        Ok(Box::new(Reading { runtime, client, file: name.handle.into(), stateid: name.stateid }))
    }
}

impl RemoteFile for Reading {
    /// Reads with several READs in flight.
    fn read(&mut self, offset_bytes: u64, count: u32) -> Result<Vec<u8>, RemoteError> {
        let piece = |number: u32| {
            let begin = count.min(number * READ_BYTES);
            self.piece(offset_bytes + u64::from(begin), READ_BYTES.min(count - begin))
        };
        let pieces = async { tokio::join!(piece(0), piece(1), piece(2), piece(3)) };
        let (first, second, third, fourth) = self.runtime.block_on(pieces);
        let mut bytes = Vec::with_capacity(count as usize);
        for piece in [first, second, third, fourth] {
            let piece = piece?;
            bytes.extend_from_slice(&piece.bytes);
            // Replies behind a short one leave a gap.
            if piece.bytes.len() < READ_BYTES as usize {
                break;
            }
        }
        Ok(bytes)
    }
}

impl Reading {
    async fn piece(&self, offset_bytes: u64, count: u32) -> Result<Data, RemoteError> {
        self.client.read(&self.file, self.stateid, offset_bytes, count).await.map_err(|error| cause(&error))
    }
}

impl Drop for Reading {
    fn drop(&mut self) {
        let close = async { tokio::time::timeout(CLOSE, self.client.clone().close()).await };
        if !matches!(self.runtime.block_on(close), Ok(Ok(()))) {
            tracing::debug!("could not end the session with another server after a copy");
        }
    }
}

/// Translates an error of the other server.
fn cause(error: &Error) -> RemoteError {
    tracing::warn!(%error, "cannot read from another server");
    match error.reason() {
        Reason::Status(_) => RemoteError::Refused,
        _ => RemoteError::Failed,
    }
}
