use proto::nfs3::{Create, CreateArgs, CreateHow};
use vfs::{CreateMode, SetAttributes};

use super::arguments::{dir_op, success};
use super::made::made;
use super::{attributes, setattr};
use crate::connection::Connection;
use crate::types::DirChange;
use crate::{Entry, Handle, Result};

/// Creates a regular file (RFC 1813 §3.3.8).
pub async fn create(
    connection: &Connection,
    dir: &Handle,
    name: &[u8],
    mode: CreateMode,
    set: &SetAttributes,
) -> Result<(Entry, DirChange)> {
    let place = dir_op::<Create>(connection, dir, name)?;
    let wire_set = attributes::wire_set::<Create>(connection, set)?;
    let how = match mode {
        CreateMode::Unchecked => CreateHow::Unchecked(wire_set),
        CreateMode::Guarded => CreateHow::Guarded(wire_set),
        CreateMode::Exclusive(verifier) => CreateHow::Exclusive(verifier),
    };
    let response = connection.call::<Create>(&CreateArgs { place, how }).await?;
    let ok = success(&response, response.decode()?)?;
    let (entry, change) = made(connection, dir, name, ok).await?;
    // An exclusive CREATE carries no attributes, and the server may store the verifier in the times: set them now.
    if matches!(mode, CreateMode::Exclusive(_)) {
        let set = with_times(set);
        let attributes = setattr(connection, &entry.handle, &set).await?;
        return Ok((Entry { attributes, ..entry }, change));
    }
    Ok((entry, change))
}

fn with_times(set: &SetAttributes) -> SetAttributes {
    let now = Some(vfs::SetTime::Now);
    SetAttributes { accessed: set.accessed.or(now), modified: set.modified.or(now), ..*set }
}
