use proto::nfs3;

use crate::Result;
use crate::connection::Connection;

/// Shows that the server answers (RFC 1813 §3.3.0).
pub async fn null(connection: &Connection) -> Result<()> {
    connection.call::<nfs3::Null>(&()).await?.decode()
}
