use proto::nfs2;

use crate::Result;
use crate::connection::Connection;

/// Shows that the server answers (RFC 1094 §2.2.1).
pub async fn null(connection: &Connection) -> Result<()> {
    connection.call::<nfs2::Null>(&()).await?.decode()
}
