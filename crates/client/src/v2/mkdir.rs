use proto::nfs2::{CreateArgs, Mkdir};
use vfs::SetAttributes;

use super::{attributes, dir_op, entry, success};
use crate::connection::Connection;
use crate::types::DirChange;
use crate::{Entry, Handle, Result};

/// What a directory's mode is when nobody names it: servers take the number that stands for "none" at its word.
const DEFAULT_MODE: u32 = 0o755;

/// Makes a directory (RFC 1094 §2.2.15).
pub(crate) async fn mkdir(
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
