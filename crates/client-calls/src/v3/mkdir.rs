use proto::nfs3::{Mkdir, MkdirArgs};
use vfs::SetAttributes;

use super::arguments::{dir_op, success};
use super::attributes;
use super::made::made;
use crate::connection::Connection;
use crate::types::DirChange;
use crate::{Entry, Handle, Result};

/// Creates a directory (RFC 1813 §3.3.9).
pub async fn mkdir(
    connection: &Connection,
    dir: &Handle,
    name: &[u8],
    set: &SetAttributes,
) -> Result<(Entry, DirChange)> {
    let place = dir_op::<Mkdir>(connection, dir, name)?;
    let arguments = MkdirArgs { place, attributes: attributes::wire_set::<Mkdir>(connection, set)? };
    let response = connection.call::<Mkdir>(&arguments).await?;
    let ok = success(&response, response.decode()?)?;
    made(connection, dir, name, ok).await
}
