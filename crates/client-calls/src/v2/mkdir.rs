use proto::nfs2::{CreateArgs, Mkdir};
use vfs::SetAttributes;

use super::arguments::{dir_op, entry, success};
use super::attributes;
use crate::connection::Connection;
use crate::types::DirChange;
use crate::{Entry, Handle, Result};

/// The mode of a directory if the caller gives none: servers use the number that stands for "no mode" as a mode.
const DEFAULT_MODE: u32 = 0o755;

/// Creates a directory (RFC 1094 §2.2.15).
pub async fn mkdir(
    connection: &Connection,
    dir: &Handle,
    name: &[u8],
    set: &SetAttributes,
) -> Result<(Entry, DirChange)> {
    let place = dir_op::<Mkdir>(connection, dir, name)?;
    let set = SetAttributes { mode: set.mode.or(Some(DEFAULT_MODE)), ..*set };
    let arguments = CreateArgs { place, attributes: attributes::wire_set::<Mkdir>(connection, &set, None)? };
    let response = connection.call::<Mkdir>(&arguments).await?;
    Ok((entry(&success(&response, response.decode()?)?), DirChange::default()))
}
