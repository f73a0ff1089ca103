use proto::nfs3::{Setattr, SetattrArgs};
use vfs::{Attributes, SetAttributes};

use super::arguments::{handle, success};
use super::{attributes, getattr};
use crate::connection::Connection;
use crate::{Handle, Result};

/// Sets attributes and returns all attributes afterwards (RFC 1813 §3.3.2).
pub async fn setattr(connection: &Connection, file: &Handle, set: &SetAttributes) -> Result<Attributes> {
    let object = handle::<Setattr>(connection, file)?;
    let arguments = SetattrArgs { object, attributes: attributes::wire_set::<Setattr>(connection, set)?, guard: None };
    let response = connection.call::<Setattr>(&arguments).await?;
    match success(&response, response.decode()?)?.after {
        Some(after) => Ok(attributes::neutral(&after)),
        None => getattr(connection, file).await,
    }
}
