use proto::nfs4::{ArgOp, Component, Link, LinkArgs, Putfh, Savefh};

use super::caller::Caller;
use super::dir_change;
use super::putfh::putfh;
use super::request::Request;
use crate::DirChange;
use crate::{Handle, Result};

/// Creates a hard link to `file` (RFC 7530 §16.9, RFC 8881 §18.9).
pub async fn link(caller: &impl Caller, file: &Handle, dir: &Handle, name: &[u8]) -> Result<DirChange> {
    let link = LinkArgs { new_name: Component(name) };
    let operations = [putfh(file), ArgOp::Savefh, putfh(dir), ArgOp::Link(link), dir_change::ask()];
    let reply = caller.call(&Request::changing("LINK", &operations)).await?;
    let mut results = reply.results();
    results.ok::<Putfh, _>()?;
    results.ok::<Savefh, _>()?;
    results.ok::<Putfh, _>()?;
    let change = results.ok::<Link, _>()?;
    Ok(dir_change::read(&mut results, change))
}
