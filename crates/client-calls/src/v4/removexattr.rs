use proto::nfs4::{ArgOp, Component, Putfh, Removexattr, RemovexattrArgs};

use super::caller::Caller;
use super::putfh::putfh;
use super::request::Request;
use crate::{Handle, Result};

/// Removes an extended attribute (RFC 8276 §8.4.4).
pub async fn removexattr(caller: &impl Caller, file: &Handle, name: &[u8]) -> Result<()> {
    let operations = [putfh(file), ArgOp::Removexattr(RemovexattrArgs { name: Component(name) })];
    let reply = caller.call(&Request::changing("REMOVEXATTR", &operations)).await?;
    let mut results = reply.results();
    results.ok::<Putfh, _>()?;
    results.ok::<Removexattr, _>().map(drop)
}
