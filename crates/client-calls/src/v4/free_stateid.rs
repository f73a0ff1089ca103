use proto::nfs4::{ArgOp, FreeStateid, FreeStateidArgs, Stateid};

use super::caller::Caller;
use super::request::Request;
use crate::Result;

/// Frees a stateid that the server revoked (RFC 8881 §18.38).
pub async fn free_stateid(caller: &impl Caller, stateid: Stateid) -> Result<()> {
    let operations = [ArgOp::FreeStateid(FreeStateidArgs { stateid })];
    let reply = caller.call(&Request::changing("FREE_STATEID", &operations)).await?;
    reply.results().ok::<FreeStateid, _>()
}
