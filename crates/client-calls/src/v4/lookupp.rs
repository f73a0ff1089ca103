use proto::nfs4::{ArgOp, GetattrArgs, Lookupp, Putfh};

use super::attributes;
use super::caller::Caller;
use super::lookup::entry;
use super::putfh::putfh;
use super::request::Request;
use crate::{Entry, Handle, Result};

/// Looks up the parent of a directory (RFC 7530 §16.14, RFC 8881 §18.14).
pub async fn lookupp(caller: &impl Caller, dir: &Handle) -> Result<Entry> {
    let request = GetattrArgs { request: attributes::ALL };
    let operations = [putfh(dir), ArgOp::Lookupp, ArgOp::Getfh, ArgOp::Getattr(request)];
    let reply = caller.call(&Request::reading("LOOKUPP", &operations)).await?;
    let mut results = reply.results();
    results.ok::<Putfh, _>()?;
    results.ok::<Lookupp, _>()?;
    entry(&reply, &mut results)
}
