use proto::nfs4::{ArgOp, DataContent, Putfh, Seek, SeekArgs, Stateid};

use super::caller::Caller;
use super::putfh::putfh;
use super::request::Request;
use crate::{Handle, Lie, Reason, Result};

/// The largest file offset of this host, in bytes (`off_t`).
const MAX_FILE_OFFSET: u64 = i64::MAX as u64;

/// Where the next data or hole begins; `None` if no data follows (RFC 7862 §15.11).
pub async fn seek(
    caller: &impl Caller,
    file: &Handle,
    stateid: Stateid,
    offset: u64,
    what: DataContent,
) -> Result<Option<u64>> {
    let operations = [putfh(file), ArgOp::Seek(SeekArgs { stateid, offset, what })];
    let reply = caller.call(&Request::reading("SEEK", &operations)).await?;
    let mut results = reply.results();
    results.ok::<Putfh, _>()?;
    let ok = results.ok::<Seek, _>()?;
    if ok.offset < offset && !ok.eof {
        return Err(reply.error(Reason::Lie(Lie::SoughtBackwards { from: offset, got: ok.offset })));
    }
    if ok.offset > MAX_FILE_OFFSET {
        return Err(reply.error(Reason::Lie(Lie::SoughtTooFar(ok.offset))));
    }
    // The end of the file counts as a hole, and not as data.
    Ok(if ok.eof && what == DataContent::Data { None } else { Some(ok.offset.max(offset)) })
}
