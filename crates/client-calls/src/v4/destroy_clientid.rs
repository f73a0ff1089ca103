use proto::nfs4::{ArgOp, ClientId, DestroyClientid, DestroyClientidArgs};

use super::caller::Caller;
use super::request::Request;
use crate::Result;

/// Destroys a client id (RFC 8881 §18.50), which must hold no state.
pub async fn destroy_clientid(caller: &impl Caller, client: ClientId) -> Result<()> {
    let operations = [ArgOp::DestroyClientid(DestroyClientidArgs { client })];
    let reply = caller.call(&Request::changing("DESTROY_CLIENTID", &operations)).await?;
    reply.results().ok::<DestroyClientid, _>()
}
