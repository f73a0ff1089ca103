use proto::nfs4::Null;

use super::client::Client;
use crate::Result;

/// Does nothing, and shows that the server answers (RFC 8881 §16.1).
pub(crate) async fn null(client: &Client) -> Result<()> {
    client.connection().call::<Null>(&()).await?.decode()
}
