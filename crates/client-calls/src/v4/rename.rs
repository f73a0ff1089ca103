use proto::nfs4::{ArgOp, Component, Putfh, Rename, RenameArgs, Savefh};

use super::caller::Caller;
use super::dir_change;
use super::putfh::putfh;
use super::request::Request;
use crate::DirChange;
use crate::{Handle, Result};

/// Moves a file to another name (RFC 7530 §16.27, RFC 8881 §18.26).
pub async fn rename(
    caller: &impl Caller,
    from_dir: &Handle,
    from: &[u8],
    to_dir: &Handle,
    to: &[u8],
) -> Result<[DirChange; 2]> {
    let names = RenameArgs { old_name: Component(from), new_name: Component(to) };
    let [target, source] = [dir_change::ask(), dir_change::ask()];
    let renamed = [putfh(from_dir), ArgOp::Savefh, putfh(to_dir), ArgOp::Rename(names)];
    let operations: Vec<_> = renamed.into_iter().chain([target, putfh(from_dir), source]).collect();
    let reply = caller.call(&Request::changing("RENAME", &operations)).await?;
    let mut results = reply.results();
    results.ok::<Putfh, _>()?;
    results.ok::<Savefh, _>()?;
    results.ok::<Putfh, _>()?;
    let changes = results.ok::<Rename, _>()?;
    let target = dir_change::read(&mut results, changes.target);
    Ok([dir_change::read_named(&mut results, changes.source), target])
}
