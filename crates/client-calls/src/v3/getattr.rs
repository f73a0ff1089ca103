use proto::nfs3::{Getattr, GetattrArgs};
use vfs::Attributes;

use super::arguments::{handle, success};
use super::attributes;
use crate::connection::Connection;
use crate::{Handle, Result};

/// The attributes of a file (RFC 1813 §3.3.1).
pub async fn getattr(connection: &Connection, file: &Handle) -> Result<Attributes> {
    let object = handle::<Getattr>(connection, file)?;
    let response = connection.call::<Getattr>(&GetattrArgs { object }).await?;
    let ok = success(&response, response.decode()?)?;
    Ok(attributes::neutral(&ok.attributes))
}
