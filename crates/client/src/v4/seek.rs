use proto::nfs4::{ArgOp, DataContent, Putfh, Seek, SeekArgs, Stateid};

use super::client::Client;
use super::putfh;
use super::request::Request;
use crate::{Handle, Lie, Reason, Result};

/// The largest offset that a file can have on this host, in bytes (`off_t`).
const MAX_FILE_OFFSET: u64 = i64::MAX as u64;

/// Where the next data or the next hole begins, if there is one before the end (RFC 7862 §15.11).
pub(crate) async fn seek(
    client: &Client,
    file: &Handle,
    stateid: Stateid,
    (offset, what): (u64, DataContent),
) -> Result<Option<u64>> {
    let operations = [putfh(file), ArgOp::Seek(SeekArgs { stateid, offset, what })];
    let reply = client.call(&Request::reading("SEEK", &operations)).await?;
    let mut results = reply.results();
    results.ok::<Putfh, _>()?;
    let ok = results.ok::<Seek, _>()?;
    if ok.offset < offset && !ok.eof {
        return Err(reply.error(Reason::Lie(Lie::SoughtBackwards { from: offset, got: ok.offset })));
    }
    if ok.offset > MAX_FILE_OFFSET {
        return Err(reply.error(Reason::Lie(Lie::SoughtTooFar(ok.offset))));
    }
    // At the end there is a hole, and no data.
    Ok(if ok.eof && what == DataContent::Data { None } else { Some(ok.offset.max(offset)) })
}
