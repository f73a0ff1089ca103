use proto::nfs3::{Symlink, SymlinkArgs};
use vfs::SetAttributes;

use super::arguments::{dir_op, success};
use super::attributes;
use super::made::made;
use crate::connection::Connection;
use crate::types::DirChange;
use crate::{Entry, Handle, Result};

/// Creates a symbolic link to `target` (RFC 1813 §3.3.10).
pub async fn symlink(
    connection: &Connection,
    dir: &Handle,
    name: &[u8],
    target: &[u8],
    set: &SetAttributes,
) -> Result<(Entry, DirChange)> {
    let place = dir_op::<Symlink>(connection, dir, name)?;
    let arguments = SymlinkArgs { place, attributes: attributes::wire_set::<Symlink>(connection, set)?, target };
    let response = connection.call::<Symlink>(&arguments).await?;
    let ok = success(&response, response.decode()?)?;
    made(connection, dir, name, ok).await
}
