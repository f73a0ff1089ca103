use proto::nfs4::{ArgOp, Clone, CloneArgs, Putfh, Savefh};

use super::caller::Caller;
use super::copy::Transfer;
use super::putfh::putfh;
use super::request::Request;
use crate::Result;

/// Makes two files share a range until one of them is written (RFC 7862 §15.13).
pub async fn clone(caller: &impl Caller, transfer: Transfer) -> Result<()> {
    let arguments = CloneArgs {
        source_stateid: transfer.source_stateid,
        destination_stateid: transfer.destination_stateid,
        source_offset: transfer.source_offset,
        destination_offset: transfer.destination_offset,
        count: transfer.count,
    };
    let operations = [putfh(&transfer.source), ArgOp::Savefh, putfh(&transfer.destination), ArgOp::Clone(arguments)];
    let reply = caller.call(&Request::changing("CLONE", &operations)).await?;
    let mut results = reply.results();
    results.ok::<Putfh, _>()?;
    results.ok::<Savefh, _>()?;
    results.ok::<Putfh, _>()?;
    results.ok::<Clone, _>()
}
