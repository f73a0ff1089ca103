use proto::nfs4::{ArgOp, ClientId, DestroyClientid, DestroyClientidArgs};

use super::request::Request;
use super::wire::Wire;
use crate::Result;

/// Destroys a client id (RFC 8881 §18.50), which must hold no state.
pub(super) async fn destroy_clientid(wire: &Wire<'_>, client: ClientId) -> Result<()> {
    let operations = [ArgOp::DestroyClientid(DestroyClientidArgs { client })];
    let reply = wire.call(&Request::changing("DESTROY_CLIENTID", &operations)).await?;
    reply.results().ok::<DestroyClientid, _>()
}
