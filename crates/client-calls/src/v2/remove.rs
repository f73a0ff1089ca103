use proto::nfs2::{Remove, RemoveArgs};

use super::arguments::{dir_op, success};
use crate::connection::Connection;
use crate::types::DirChange;
use crate::{Handle, Result};

/// Removes a name that is not a directory's (RFC 1094 §2.2.11).
pub async fn remove(connection: &Connection, dir: &Handle, name: &[u8]) -> Result<DirChange> {
    let object = dir_op::<Remove>(connection, dir, name)?;
    let response = connection.call::<Remove>(&RemoveArgs { object }).await?;
    success(&response, response.decode()?)?;
    Ok(DirChange::default())
}
