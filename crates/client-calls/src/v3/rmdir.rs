use proto::nfs3::{Rmdir, RmdirArgs};

use super::arguments::{dir_op, success};
use super::attributes;
use crate::connection::Connection;
use crate::types::DirChange;
use crate::{Handle, Result};

/// Removes an empty directory (RFC 1813 §3.3.13).
pub async fn rmdir(connection: &Connection, dir: &Handle, name: &[u8]) -> Result<DirChange> {
    let object = dir_op::<Rmdir>(connection, dir, name)?;
    let response = connection.call::<Rmdir>(&RmdirArgs { object }).await?;
    let ok = success(&response, response.decode()?)?;
    Ok(attributes::dir_change(&ok))
}
