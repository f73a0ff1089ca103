use proto::nfs4::{ArgOp, Component, Getattr, GetattrArgs, Getfh, Lookup, LookupArgs, Putfh, Putrootfh};

use super::attributes;
use super::caller::Caller;
use super::putfh::putfh;
use super::reply::{Reply, Results};
use super::request::Request;
use crate::{Entry, Handle, Result};

/// Looks up a name in a directory (RFC 7530 §16.13, RFC 8881 §18.13).
pub async fn lookup(caller: &impl Caller, dir: &Handle, name: &[u8]) -> Result<Entry> {
    let request = GetattrArgs { request: attributes::ALL };
    let name = LookupArgs { name: Component(name) };
    let operations = [putfh(dir), ArgOp::Lookup(name), ArgOp::Getfh, ArgOp::Getattr(request)];
    let reply = caller.call(&Request::reading("LOOKUP", &operations)).await?;
    let mut results = reply.results();
    results.ok::<Putfh, _>()?;
    results.ok::<Lookup, _>()?;
    entry(&reply, &mut results)
}

/// The root of the server's namespace (RFC 7530 §16.22, RFC 8881 §18.21).
pub async fn root(caller: &impl Caller) -> Result<Entry> {
    let operations = [ArgOp::Putrootfh, ArgOp::Getfh, ArgOp::Getattr(GetattrArgs { request: attributes::ALL })];
    let reply = caller.call(&Request::reading("PUTROOTFH", &operations)).await?;
    let mut results = reply.results();
    results.ok::<Putrootfh, _>()?;
    entry(&reply, &mut results)
}

/// Reads the current file from the results of GETFH and GETATTR.
pub fn entry<'r>(reply: &'r Reply, results: &mut Results<'r>) -> Result<Entry> {
    let handle = results.ok::<Getfh, _>()?.into();
    let found = results.ok::<Getattr, _>()?;
    let attributes = attributes::neutral(&found).map_err(|reason| reply.error(reason))?;
    Ok(Entry { handle, attributes })
}
