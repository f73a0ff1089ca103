use proto::nfs4::{ArgOp, BindConnToSession, BindConnToSessionArgs, ClientDirection, SessionId};

use super::request::Request;
use super::wire::Wire;
use crate::Result;

/// Binds a connection to a session, for callbacks too if the server agrees (RFC 8881 §18.34).
pub(super) async fn bind_conn_to_session(wire: &Wire<'_>, session: SessionId) -> Result<()> {
    let arguments = BindConnToSessionArgs { session, direction: ClientDirection::ForeOrBoth, use_rdma: false };
    let operations = [ArgOp::BindConnToSession(arguments)];
    let reply = wire.call(&Request::changing("BIND_CONN_TO_SESSION", &operations)).await?;
    reply.results().ok::<BindConnToSession, _>().map(drop)
}
