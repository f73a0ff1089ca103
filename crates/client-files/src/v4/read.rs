use client_calls::v4 as calls;
use proto::nfs4::Stateid;
use vfs::Attributes;

use super::client::Client;
use crate::{Data, Handle, Result};

/// Reads up to `count` bytes without opening the file. It fetches no attributes.
pub(crate) async fn read(
    client: &Client,
    file: &Handle,
    offset: u64,
    count: u32,
) -> Result<(Data, Option<Attributes>)> {
    Ok((client.read(file, Stateid::ANONYMOUS, offset, count).await?, None))
}

impl Client {
    /// Reads up to `count` bytes under `stateid` (RFC 7530 §16.23, RFC 8881 §18.22), in one compound. The data stays
    /// where it was received.
    ///
    /// # Errors
    /// The server's status; [`Reason::Lie`](crate::Reason::Lie) when it returns more than `count` bytes, or none before
    /// the end of the file.
    pub async fn read(&self, file: &Handle, stateid: Stateid, offset: u64, count: u32) -> Result<Data> {
        calls::read(self, file, stateid, offset, count).await
    }
}
