use proto::nfs3::{Rename, RenameArgs};

use super::arguments::{dir_op, success};
use super::attributes;
use crate::connection::Connection;
use crate::types::DirChange;
use crate::{Handle, Result};

/// Moves a file to another name (RFC 1813 §3.3.14).
pub async fn rename(
    connection: &Connection,
    from_dir: &Handle,
    from: &[u8],
    to_dir: &Handle,
    to: &[u8],
) -> Result<[DirChange; 2]> {
    let from = dir_op::<Rename>(connection, from_dir, from)?;
    let to = dir_op::<Rename>(connection, to_dir, to)?;
    let response = connection.call::<Rename>(&RenameArgs { from, to }).await?;
    let ok = success(&response, response.decode()?)?;
    Ok([ok.from_dir, ok.to_dir].map(|wcc| attributes::dir_change(&wcc)))
}
