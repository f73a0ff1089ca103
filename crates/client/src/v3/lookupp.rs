use super::lookup;
use crate::connection::Connection;
use crate::{Entry, Handle, Result};

/// Finds the directory above another one, which has a name in it (RFC 1813 §3.3.3).
pub(crate) async fn lookupp(connection: &Connection, dir: &Handle) -> Result<Entry> {
    lookup(connection, dir, b"..").await
}
