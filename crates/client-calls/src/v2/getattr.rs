use proto::nfs2::{Getattr, GetattrArgs};
use vfs::Attributes;

use super::arguments::{handle, success};
use super::attributes;
use crate::connection::Connection;
use crate::{Handle, Result};

/// The attributes of a file (RFC 1094 §2.2.2).
pub async fn getattr(connection: &Connection, file: &Handle) -> Result<Attributes> {
    let file = handle::<Getattr>(connection, file)?;
    let response = connection.call::<Getattr>(&GetattrArgs { file }).await?;
    Ok(attributes::neutral(&success(&response, response.decode()?)?))
}
