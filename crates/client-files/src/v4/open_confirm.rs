use std::sync::Arc;

use client_calls::v4::{Request, putfh};
use proto::nfs4::{ArgOp, OpenConfirm, OpenConfirmArgs, Putfh, Res, Stateid};

use super::client::Client;
use super::owner::Owner;
use super::session::Session;
use crate::{Handle, Result};

/// Confirms an owner that the server of 4.0 did not know (RFC 7530 §16.18).
pub(super) async fn open_confirm(
    client: &Client,
    session: Option<&Arc<Session>>,
    handle: &Handle,
    stateid: Stateid,
    owner: &mut Owner,
) -> Result<Stateid> {
    let operations = [putfh(handle), ArgOp::OpenConfirm(OpenConfirmArgs { stateid, seqid: owner.open_seqid })];
    let reply = client.call_or_attempt(session, &Request::changing("OPEN_CONFIRM", &operations)).await?;
    let mut results = reply.results();
    results.ok::<Putfh, _>()?;
    match results.next::<OpenConfirm>()? {
        Res::Ok(stateid) => {
            owner.open_seqid = owner.open_seqid.wrapping_add(1);
            Ok(stateid)
        }
        Res::Fail(status) => {
            owner.open_seqid = owner.open_seqid.wrapping_add(u32::from(status.uses_seqid()));
            Err(reply.refusal(status))
        }
    }
}
