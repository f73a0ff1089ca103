use proto::nfs4::{ArgOp, Component, Getxattr, GetxattrArgs, Putfh};

use super::caller::Caller;
use super::putfh::putfh;
use super::request::Request;
use crate::{Handle, Result};

/// The value of an extended attribute (RFC 8276 §8.4.1).
pub async fn getxattr(caller: &impl Caller, file: &Handle, name: &[u8]) -> Result<Vec<u8>> {
    let operations = [putfh(file), ArgOp::Getxattr(GetxattrArgs { name: Component(name) })];
    let reply = caller.call(&Request::reading("GETXATTR", &operations)).await?;
    let mut results = reply.results();
    results.ok::<Putfh, _>()?;
    results.ok::<Getxattr, _>().map(|ok| ok.value.to_vec())
}
