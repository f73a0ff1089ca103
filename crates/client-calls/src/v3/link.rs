use proto::nfs3::{Link, LinkArgs};

use super::arguments::{dir_op, handle, success};
use super::attributes;
use crate::connection::Connection;
use crate::types::DirChange;
use crate::{Handle, Result};

/// Creates a hard link to `file` (RFC 1813 §3.3.15).
pub async fn link(connection: &Connection, file: &Handle, dir: &Handle, name: &[u8]) -> Result<DirChange> {
    let file = handle::<Link>(connection, file)?;
    let link = dir_op::<Link>(connection, dir, name)?;
    let response = connection.call::<Link>(&LinkArgs { file, link }).await?;
    let ok = success(&response, response.decode()?)?;
    Ok(attributes::dir_change(&ok.dir_wcc))
}
