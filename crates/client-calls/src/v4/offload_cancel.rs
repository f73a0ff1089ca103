use proto::nfs4::{ArgOp, OffloadCancel, OffloadCancelArgs, Putfh, Stateid};

use super::caller::Caller;
use super::putfh::putfh;
use super::request::Request;
use crate::{Handle, Result};

/// Cancels a copy into `file` (RFC 7862 §15.8). What was copied stays.
pub async fn offload_cancel(caller: &impl Caller, file: &Handle, stateid: Stateid) -> Result<()> {
    let operations = [putfh(file), ArgOp::OffloadCancel(OffloadCancelArgs { stateid })];
    let reply = caller.call(&Request::changing("OFFLOAD_CANCEL", &operations)).await?;
    let mut results = reply.results();
    results.ok::<Putfh, _>()?;
    results.ok::<OffloadCancel, _>()
}
