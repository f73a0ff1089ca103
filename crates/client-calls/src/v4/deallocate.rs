use proto::nfs4::{ArgOp, Deallocate, DeallocateArgs, Putfh, Stateid};

use super::caller::Caller;
use super::putfh::putfh;
use super::request::Request;
use crate::{Handle, Result};

/// Makes a hole of `length` bytes from `offset` on (RFC 7862 §15.4).
pub async fn deallocate(caller: &impl Caller, file: &Handle, stateid: Stateid, offset: u64, length: u64) -> Result<()> {
    let operations = [putfh(file), ArgOp::Deallocate(DeallocateArgs { stateid, offset, length })];
    let reply = caller.call(&Request::changing("DEALLOCATE", &operations)).await?;
    let mut results = reply.results();
    results.ok::<Putfh, _>()?;
    results.ok::<Deallocate, _>()
}
