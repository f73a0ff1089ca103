use proto::nfs4::{ArgOp, OffloadStatus, OffloadStatusArgs, OffloadStatusOk, Putfh, Stateid};

use super::client::Client;
use super::putfh;
use super::request::Request;
use crate::{Handle, Result};

/// Asks how far a copy into `file` has got (RFC 7862 §15.9).
pub(super) async fn offload_status(client: &Client, file: &Handle, stateid: Stateid) -> Result<OffloadStatusOk> {
    let operations = [putfh(file), ArgOp::OffloadStatus(OffloadStatusArgs { stateid })];
    let reply = client.call(&Request::reading("OFFLOAD_STATUS", &operations)).await?;
    let mut results = reply.results();
    results.ok::<Putfh, _>()?;
    results.ok::<OffloadStatus, _>()
}
