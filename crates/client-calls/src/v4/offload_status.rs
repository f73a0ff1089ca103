use proto::nfs4::{ArgOp, OffloadStatus, OffloadStatusArgs, OffloadStatusOk, Putfh, Stateid};

use super::caller::Caller;
use super::putfh::putfh;
use super::request::Request;
use crate::{Handle, Result};

/// Asks how far a copy into `file` has got (RFC 7862 §15.9).
pub async fn offload_status(caller: &impl Caller, file: &Handle, stateid: Stateid) -> Result<OffloadStatusOk> {
    let operations = [putfh(file), ArgOp::OffloadStatus(OffloadStatusArgs { stateid })];
    let reply = caller.call(&Request::reading("OFFLOAD_STATUS", &operations)).await?;
    let mut results = reply.results();
    results.ok::<Putfh, _>()?;
    results.ok::<OffloadStatus, _>()
}
