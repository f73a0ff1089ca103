use proto::nfs4::{ArgOp, Putfh, Read, ReadArgs, Stateid};

use super::client::Client;
use super::putfh;
use super::request::Request;
use crate::{Data, Handle, Lie, Reason, Result};
use vfs::Attributes;

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
    /// The server's status; [`Reason::Lie`] when it returns more than `count` bytes, or none before the end of the
    /// file.
    pub async fn read(&self, file: &Handle, stateid: Stateid, offset: u64, count: u32) -> Result<Data> {
        let operations = [putfh(file), ArgOp::Read(ReadArgs { stateid, offset, count })];
        let reply = self.call(&Request::reading("READ", &operations)).await?;
        let mut results = reply.results();
        results.ok::<Putfh, _>()?;
        let ok = results.ok::<Read, _>()?;
        let got = ok.data.len();
        if got > count as usize {
            return Err(reply.error(Reason::Lie(Lie::TooMuchData { asked: count, got })));
        }
        if got == 0 && !ok.head.eof && count > 0 {
            return Err(reply.error(Reason::Lie(Lie::NoData)));
        }
        Ok(Data { bytes: reply.share(ok.data), is_eof: ok.head.eof })
    }
}
