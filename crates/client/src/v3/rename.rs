use proto::nfs3::{Rename, RenameArgs};

use super::{dir_op, success};
use crate::connection::Connection;
use crate::{Handle, Result};

/// Moves a file to another name (RFC 1813 §3.3.14).
pub(crate) async fn rename(
    connection: &Connection,
    from_dir: &Handle,
    from: &[u8],
    to_dir: &Handle,
    to: &[u8],
) -> Result<()> {
    let from = dir_op::<Rename>(connection, from_dir, from)?;
    let to = dir_op::<Rename>(connection, to_dir, to)?;
    let response = connection.call::<Rename>(&RenameArgs { from, to }).await?;
    success(&response, response.decode()?).map(drop)
}
