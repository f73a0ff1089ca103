use proto::nfs4::{ArgOp, Putfh, Read, ReadArgs, Stateid};

use super::caller::Caller;
use super::putfh::putfh;
use super::request::Request;
use crate::{Data, Handle, Lie, Reason, Result};

/// Reads up to `count` bytes under `stateid` (RFC 7530 §16.23, RFC 8881 §18.22), in one compound. The data stays where
/// it was received.
pub async fn read(caller: &impl Caller, file: &Handle, stateid: Stateid, offset: u64, count: u32) -> Result<Data> {
    let operations = [putfh(file), ArgOp::Read(ReadArgs { stateid, offset, count })];
    let reply = caller.call(&Request::reading("READ", &operations)).await?;
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
