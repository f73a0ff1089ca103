use proto::nfs2::{Rmdir, RmdirArgs};

use super::arguments::{dir_op, success};
use crate::connection::Connection;
use crate::types::DirChange;
use crate::{Handle, Result};

/// Removes an empty directory (RFC 1094 §2.2.16).
pub async fn rmdir(connection: &Connection, dir: &Handle, name: &[u8]) -> Result<DirChange> {
    let object = dir_op::<Rmdir>(connection, dir, name)?;
    let response = connection.call::<Rmdir>(&RmdirArgs { object }).await?;
    success(&response, response.decode()?)?;
    Ok(DirChange::default())
}
