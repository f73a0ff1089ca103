use std::sync::Arc;

use proto::nfs4::{ArgOp, FreeStateid, FreeStateidArgs, Stateid};

use super::client::Client;
use super::request::Request;
use super::session::Session;
use crate::Result;

/// Frees a stateid that the server revoked (RFC 8881 §18.38).
pub(super) async fn free_stateid(client: &Client, session: &Arc<Session>, stateid: Stateid) -> Result<()> {
    let operations = [ArgOp::FreeStateid(FreeStateidArgs { stateid })];
    let reply = client.call_in(session, &Request::changing("FREE_STATEID", &operations)).await?;
    reply.results().ok::<FreeStateid, _>()
}
