use proto::nfs3::{Lookup, LookupArgs};

use super::arguments::{dir_op, success};
use super::found::entry;
use crate::connection::Connection;
use crate::{Entry, Handle, Result};

/// Looks up a name in a directory (RFC 1813 §3.3.3).
pub async fn lookup(connection: &Connection, dir: &Handle, name: &[u8]) -> Result<Entry> {
    let what = dir_op::<Lookup>(connection, dir, name)?;
    let response = connection.call::<Lookup>(&LookupArgs { what }).await?;
    let ok = success(&response, response.decode()?)?;
    // Boxed, which keeps the futures of the callers small.
    Box::pin(entry(connection, ok.object.into(), ok.attributes)).await
}
