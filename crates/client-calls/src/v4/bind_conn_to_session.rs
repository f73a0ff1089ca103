use proto::nfs4::{ArgOp, BindConnToSession, BindConnToSessionArgs, ClientDirection, SessionId};

use super::caller::Caller;
use super::request::Request;
use crate::Result;

/// Binds a connection to a session, for callbacks too if the server agrees (RFC 8881 §18.34).
pub async fn bind_conn_to_session(caller: &impl Caller, session: SessionId) -> Result<()> {
    let arguments = BindConnToSessionArgs { session, direction: ClientDirection::ForeOrBoth, use_rdma: false };
    let operations = [ArgOp::BindConnToSession(arguments)];
    let reply = caller.call(&Request::changing("BIND_CONN_TO_SESSION", &operations)).await?;
    reply.results().ok::<BindConnToSession, _>().map(drop)
}
