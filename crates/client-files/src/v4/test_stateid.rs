use std::sync::Arc;

use proto::nfs4::{ArgOp, Stateid, Status, TestStateid, TestStateidArgs};

use super::client::Client;
use super::request::Request;
use super::session::Session;
use crate::{Lie, Reason, Result};

/// The server's status of a stateid (RFC 8881 §18.48).
pub(super) async fn test_stateid(client: &Client, session: &Arc<Session>, stateid: Stateid) -> Result<Status> {
    let operations = [ArgOp::TestStateid(TestStateidArgs { stateids: vec![stateid] })];
    let reply = client.call_in(session, &Request::reading("TEST_STATEID", &operations)).await?;
    let ok = reply.results().ok::<TestStateid, _>()?;
    ok.statuses.first().copied().ok_or_else(|| reply.error(Reason::Lie(Lie::FewResults)))
}
