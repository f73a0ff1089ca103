use proto::nfs4::{ArgOp, Putfh, Readlink};

use super::caller::Caller;
use super::putfh::putfh;
use super::request::Request;
use crate::{Handle, Result};

/// The target of a symbolic link (RFC 7530 §16.25, RFC 8881 §18.24).
pub async fn readlink(caller: &impl Caller, link: &Handle) -> Result<Vec<u8>> {
    let operations = [putfh(link), ArgOp::Readlink];
    let reply = caller.call(&Request::reading("READLINK", &operations)).await?;
    let mut results = reply.results();
    results.ok::<Putfh, _>()?;
    results.ok::<Readlink, _>().map(|ok| ok.target.to_vec())
}
