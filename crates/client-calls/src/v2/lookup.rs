use proto::nfs2::{Lookup, LookupArgs};

use super::arguments::{dir_op, entry, success};
use crate::connection::Connection;
use crate::{Entry, Handle, Result};

/// Looks up a name in a directory (RFC 1094 §2.2.5).
pub async fn lookup(connection: &Connection, dir: &Handle, name: &[u8]) -> Result<Entry> {
    let what = dir_op::<Lookup>(connection, dir, name)?;
    let response = connection.call::<Lookup>(&LookupArgs { what }).await?;
    Ok(entry(&success(&response, response.decode()?)?))
}
