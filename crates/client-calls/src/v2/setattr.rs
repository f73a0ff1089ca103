use proto::nfs2::{Setattr, SetattrArgs};
use vfs::{Attributes, SetAttributes};

use super::arguments::{handle, success, word};
use super::attributes;
use crate::connection::Connection;
use crate::{Handle, Result};

/// Sets attributes and returns all attributes afterwards (RFC 1094 §2.2.3).
pub async fn setattr(connection: &Connection, file: &Handle, set: &SetAttributes) -> Result<Attributes> {
    let size = set.size_bytes.map(|size| word::<Setattr>(connection, size)).transpose()?;
    let file = handle::<Setattr>(connection, file)?;
    let arguments = SetattrArgs { file, attributes: attributes::wire_set::<Setattr>(connection, set, size)? };
    let response = connection.call::<Setattr>(&arguments).await?;
    Ok(attributes::neutral(&success(&response, response.decode()?)?))
}
