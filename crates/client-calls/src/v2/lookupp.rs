use super::lookup;
use crate::connection::Connection;
use crate::{Entry, Handle, Result};

/// Looks up the parent of a directory by the name `..` (RFC 1094 §2.2.5).
pub async fn lookupp(connection: &Connection, dir: &Handle) -> Result<Entry> {
    lookup(connection, dir, b"..").await
}
