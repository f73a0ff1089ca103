use proto::nfs4::{Allocate, AllocateArgs, ArgOp, Putfh, Stateid};

use super::caller::Caller;
use super::putfh::putfh;
use super::request::Request;
use crate::{Handle, Result};

/// Makes room for `length` bytes from `offset` on (RFC 7862 §15.1).
pub async fn allocate(caller: &impl Caller, file: &Handle, stateid: Stateid, offset: u64, length: u64) -> Result<()> {
    let operations = [putfh(file), ArgOp::Allocate(AllocateArgs { stateid, offset, length })];
    let reply = caller.call(&Request::changing("ALLOCATE", &operations)).await?;
    let mut results = reply.results();
    results.ok::<Putfh, _>()?;
    results.ok::<Allocate, _>()
}
