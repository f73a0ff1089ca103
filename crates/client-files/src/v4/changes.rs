//! Changes that delegations must know of: names that no cached open may use any more, and attributes that decide who
//! may open a file.

use client_calls::{DirChange, v4 as calls};
use proto::nfs4::Stateid;
use vfs::{Attributes, SetAttributes};

use super::client::Client;
use super::delegations::NameChange;
use crate::{Handle, Result};

/// Removes a name that is not a directory's.
pub(crate) async fn remove(client: &Client, dir: &Handle, name: &[u8]) -> Result<DirChange> {
    let _change = NameChange::new(&client.0.delegations, dir, name);
    calls::remove(client, dir, name).await
}

/// Removes an empty directory.
pub(crate) async fn rmdir(client: &Client, dir: &Handle, name: &[u8]) -> Result<DirChange> {
    let _change = NameChange::new(&client.0.delegations, dir, name);
    calls::rmdir(client, dir, name).await
}

/// Moves a file to another name.
pub(crate) async fn rename(
    client: &Client,
    from_dir: &Handle,
    from: &[u8],
    to_dir: &Handle,
    to: &[u8],
) -> Result<[DirChange; 2]> {
    let delegations = &client.0.delegations;
    let _changes = [NameChange::new(delegations, from_dir, from), NameChange::new(delegations, to_dir, to)];
    calls::rename(client, from_dir, from, to_dir, to).await
}

/// Sets attributes without opening the file, and returns all attributes afterwards.
pub(crate) async fn setattr(client: &Client, file: &Handle, set: &SetAttributes) -> Result<Attributes> {
    setattr_as(client, file, Stateid::ANONYMOUS, set).await
}

/// Sets attributes under a stateid, which a change of the size requires.
pub(crate) async fn setattr_as(
    client: &Client,
    file: &Handle,
    stateid: Stateid,
    set: &SetAttributes,
) -> Result<Attributes> {
    if set.mode.is_some() || set.uid.is_some() || set.gid.is_some() {
        client.0.delegations.ask_before_opening(file);
    }
    calls::setattr(client, file, stateid, set).await
}
