use proto::nfs2::{Create, CreateArgs};
use vfs::{CreateMode, SetAttributes};

use super::arguments::{dir_op, entry, success, word};
use super::{attributes, lookup};
use crate::connection::Connection;
use crate::types::DirChange;
use crate::{Entry, Error, Handle, Reason, Result, Status};

/// Creates a regular file (RFC 1094 §2.2.10). CREATE accepts an existing file, so a guarded creation looks the name up
/// first. Another client may create the file in between.
pub async fn create(
    connection: &Connection,
    dir: &Handle,
    name: &[u8],
    mode: CreateMode,
    set: &SetAttributes,
) -> Result<(Entry, DirChange)> {
    let failed = |reason| Error::new(connection.server(), "CREATE", reason);
    match mode {
        CreateMode::Unchecked => {}
        CreateMode::Guarded => match lookup(connection, dir, name).await {
            Ok(_) => return Err(failed(Reason::Status(Status::Exists))),
            Err(error) if error.status() == Some(Status::NoEntry) => {}
            Err(error) => return Err(error),
        },
        CreateMode::Exclusive(_) => return Err(failed(Reason::NotInVersion(crate::Version::V2))),
    }
    let size = set.size_bytes.map(|size| word::<Create>(connection, size)).transpose()?;
    let place = dir_op::<Create>(connection, dir, name)?;
    let arguments = CreateArgs { place, attributes: attributes::wire_set::<Create>(connection, set, size)? };
    let response = connection.call::<Create>(&arguments).await?;
    Ok((entry(&success(&response, response.decode()?)?), DirChange::default()))
}
