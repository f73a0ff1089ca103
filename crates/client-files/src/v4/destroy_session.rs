use proto::nfs4::{ArgOp, DestroySession, DestroySessionArgs, SessionId};

use super::request::Request;
use super::wire::Wire;
use crate::Result;

/// Destroys a session (RFC 8881 §18.37).
pub(super) async fn destroy_session(wire: &Wire<'_>, session: SessionId) -> Result<()> {
    let operations = [ArgOp::DestroySession(DestroySessionArgs { session })];
    let reply = wire.call(&Request::changing("DESTROY_SESSION", &operations)).await?;
    reply.results().ok::<DestroySession, _>()
}
