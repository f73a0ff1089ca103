use proto::nfs3::{Readlink, ReadlinkArgs};

use super::arguments::{handle, success};
use crate::connection::Connection;
use crate::{Handle, Result};

/// The target of a symbolic link (RFC 1813 §3.3.5).
pub async fn readlink(connection: &Connection, link: &Handle) -> Result<Vec<u8>> {
    let symlink = handle::<Readlink>(connection, link)?;
    let response = connection.call::<Readlink>(&ReadlinkArgs { symlink }).await?;
    let ok = success(&response, response.decode()?)?;
    Ok(ok.target.to_vec())
}
