use std::sync::Arc;

use proto::nfs4::{ArgOp, Delegreturn, DelegreturnArgs, Putfh, Stateid};

use super::client::Client;
use super::putfh;
use super::request::Request;
use super::session::Session;
use crate::{Handle, Result};

/// Returns a delegation (RFC 7530 §16.6, RFC 8881 §18.6).
pub(super) async fn delegreturn(
    client: &Client,
    session: Option<&Arc<Session>>,
    handle: &Handle,
    stateid: Stateid,
) -> Result<()> {
    let operations = [putfh(handle), ArgOp::Delegreturn(DelegreturnArgs { stateid })];
    let reply = client.call_or_attempt(session, &Request::changing("DELEGRETURN", &operations)).await?;
    let mut results = reply.results();
    results.ok::<Putfh, _>()?;
    results.ok::<Delegreturn, _>()
}
