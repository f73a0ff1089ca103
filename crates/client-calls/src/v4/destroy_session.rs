use proto::nfs4::{ArgOp, DestroySession, DestroySessionArgs, SessionId};

use super::caller::Caller;
use super::request::Request;
use crate::Result;

/// Destroys a session (RFC 8881 §18.37).
pub async fn destroy_session(caller: &impl Caller, session: SessionId) -> Result<()> {
    let operations = [ArgOp::DestroySession(DestroySessionArgs { session })];
    let reply = caller.call(&Request::changing("DESTROY_SESSION", &operations)).await?;
    reply.results().ok::<DestroySession, _>()
}
