use proto::nfs3::{Remove, RemoveArgs};

use super::arguments::{dir_op, success};
use super::attributes;
use crate::connection::Connection;
use crate::types::DirChange;
use crate::{Handle, Result};

/// Removes a name that is not a directory's (RFC 1813 §3.3.12).
pub async fn remove(connection: &Connection, dir: &Handle, name: &[u8]) -> Result<DirChange> {
    let object = dir_op::<Remove>(connection, dir, name)?;
    let response = connection.call::<Remove>(&RemoveArgs { object }).await?;
    let ok = success(&response, response.decode()?)?;
    Ok(attributes::dir_change(&ok))
}
