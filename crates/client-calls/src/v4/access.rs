use proto::nfs4::{Access, AccessArgs, ArgOp, Putfh};

use super::caller::Caller;
use super::putfh::putfh;
use super::request::Request;
use crate::{Handle, Result, Rights};

/// Asks which of the `wanted` things the caller may do (RFC 7530 §16.1, RFC 8881 §18.1).
pub async fn access(caller: &impl Caller, file: &Handle, wanted: Rights) -> Result<Rights> {
    let operations = [putfh(file), ArgOp::Access(AccessArgs { access: wanted.bits() })];
    let reply = caller.call(&Request::reading("ACCESS", &operations)).await?;
    let mut results = reply.results();
    results.ok::<Putfh, _>()?;
    let ok = results.ok::<Access, _>()?;
    Ok(Rights::from_bits(ok.access & wanted.bits()))
}
