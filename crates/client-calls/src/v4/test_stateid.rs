use proto::nfs4::{ArgOp, Stateid, Status, TestStateid, TestStateidArgs};

use super::caller::Caller;
use super::request::Request;
use crate::{Lie, Reason, Result};

/// The server's status of a stateid (RFC 8881 §18.48).
pub async fn test_stateid(caller: &impl Caller, stateid: Stateid) -> Result<Status> {
    let operations = [ArgOp::TestStateid(TestStateidArgs { stateids: vec![stateid] })];
    let reply = caller.call(&Request::reading("TEST_STATEID", &operations)).await?;
    let ok = reply.results().ok::<TestStateid, _>()?;
    ok.statuses.first().copied().ok_or_else(|| reply.error(Reason::Lie(Lie::FewResults)))
}
