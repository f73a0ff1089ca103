use proto::nfs3::{Access, AccessArgs};

use super::arguments::{handle, success};
use crate::connection::Connection;
use crate::{Handle, Result, Rights};

/// Asks which of the `wanted` things the caller may do (RFC 1813 §3.3.4).
pub async fn access(connection: &Connection, file: &Handle, wanted: Rights) -> Result<Rights> {
    let object = handle::<Access>(connection, file)?;
    let response = connection.call::<Access>(&AccessArgs { object, access: wanted.bits() }).await?;
    let ok = success(&response, response.decode()?)?;
    Ok(Rights::from_bits(ok.access & wanted.bits()))
}
