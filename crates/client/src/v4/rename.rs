use proto::nfs4::{ArgOp, Component, Putfh, Rename, RenameArgs, Savefh};

use super::client::Client;
use super::delegations::NameChange;
use super::putfh;
use super::request::Request;
use crate::{Handle, Result};

/// Moves a file to another name (RFC 7530 §16.27, RFC 8881 §18.26).
pub(crate) async fn rename(client: &Client, from_dir: &Handle, from: &[u8], to_dir: &Handle, to: &[u8]) -> Result<()> {
    let delegations = &client.0.delegations;
    let _changes = [NameChange::new(delegations, from_dir, from), NameChange::new(delegations, to_dir, to)];
    let names = RenameArgs { old_name: Component(from), new_name: Component(to) };
    let operations = [putfh(from_dir), ArgOp::Savefh, putfh(to_dir), ArgOp::Rename(names)];
    let reply = client.call(&Request::changing("RENAME", &operations)).await?;
    let mut results = reply.results();
    results.ok::<Putfh, _>()?;
    results.ok::<Savefh, _>()?;
    results.ok::<Putfh, _>()?;
    results.ok::<Rename, _>().map(drop)
}
