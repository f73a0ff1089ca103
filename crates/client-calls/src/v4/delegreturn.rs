use proto::nfs4::{ArgOp, Delegreturn, DelegreturnArgs, Putfh, Stateid};

use super::caller::Caller;
use super::putfh::putfh;
use super::request::Request;
use crate::{Handle, Result};

/// Returns a delegation (RFC 7530 §16.6, RFC 8881 §18.6).
pub async fn delegreturn(caller: &impl Caller, handle: &Handle, stateid: Stateid) -> Result<()> {
    let operations = [putfh(handle), ArgOp::Delegreturn(DelegreturnArgs { stateid })];
    let reply = caller.call(&Request::changing("DELEGRETURN", &operations)).await?;
    let mut results = reply.results();
    results.ok::<Putfh, _>()?;
    results.ok::<Delegreturn, _>()
}
