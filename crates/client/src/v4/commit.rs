use proto::nfs4::{ArgOp, Commit, CommitArgs, Putfh};

use super::client::Client;
use super::putfh;
use super::request::Request;
use crate::{Handle, Result, WriteVerifier};

/// Brings what was written to stable storage (RFC 7530 §16.3, RFC 8881 §18.3).
pub(crate) async fn commit(client: &Client, file: &Handle, offset: u64, count: u32) -> Result<WriteVerifier> {
    let operations = [putfh(file), ArgOp::Commit(CommitArgs { offset, count })];
    let reply = client.call(&Request::reading("COMMIT", &operations)).await?;
    let mut results = reply.results();
    results.ok::<Putfh, _>()?;
    results.ok::<Commit, _>().map(WriteVerifier)
}
