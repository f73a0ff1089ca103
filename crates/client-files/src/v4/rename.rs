use proto::nfs4::{ArgOp, Component, Putfh, Rename, RenameArgs, Savefh};

use super::client::Client;
use super::delegations::NameChange;
use super::request::Request;
use super::{dir_change, putfh};
use crate::types::DirChange;
use crate::{Handle, Result};

/// Moves a file to another name (RFC 7530 §16.27, RFC 8881 §18.26).
pub(crate) async fn rename(
    client: &Client,
    from_dir: &Handle,
    from: &[u8],
    to_dir: &Handle,
    to: &[u8],
) -> Result<[DirChange; 2]> {
    let delegations = &client.0.delegations;
    let _changes = [NameChange::new(delegations, from_dir, from), NameChange::new(delegations, to_dir, to)];
    let names = RenameArgs { old_name: Component(from), new_name: Component(to) };
    let [target, source] = [dir_change::ask(), dir_change::ask()];
    let renamed = [putfh(from_dir), ArgOp::Savefh, putfh(to_dir), ArgOp::Rename(names)];
    let operations: Vec<_> = renamed.into_iter().chain([target, putfh(from_dir), source]).collect();
    let reply = client.call(&Request::changing("RENAME", &operations)).await?;
    let mut results = reply.results();
    results.ok::<Putfh, _>()?;
    results.ok::<Savefh, _>()?;
    results.ok::<Putfh, _>()?;
    let changes = results.ok::<Rename, _>()?;
    let target = dir_change::read(&mut results, changes.target);
    Ok([dir_change::read_named(&mut results, changes.source), target])
}
