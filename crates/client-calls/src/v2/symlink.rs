use proto::nfs2::{Symlink, SymlinkArgs};
use vfs::SetAttributes;

use super::arguments::{dir_op, success};
use super::{attributes, lookup};
use crate::connection::Connection;
use crate::types::DirChange;
use crate::{Entry, Handle, Result};

/// Creates a symbolic link to `target` and looks it up, since the reply does not describe it (RFC 1094 §2.2.14).
pub async fn symlink(
    connection: &Connection,
    dir: &Handle,
    name: &[u8],
    target: &[u8],
    set: &SetAttributes,
) -> Result<(Entry, DirChange)> {
    let place = dir_op::<Symlink>(connection, dir, name)?;
    let arguments = SymlinkArgs { place, target, attributes: attributes::wire_set::<Symlink>(connection, set, None)? };
    let response = connection.call::<Symlink>(&arguments).await?;
    success(&response, response.decode()?)?;
    Ok((lookup(connection, dir, name).await?, DirChange::default()))
}
