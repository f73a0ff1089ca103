use proto::nfs4::{Allocate, AllocateArgs, ArgOp, Putfh, Stateid};

use super::client::Client;
use super::putfh;
use super::request::Request;
use crate::{Handle, Result};

/// Makes room for `length` bytes from `offset` on (RFC 7862 §15.1).
pub(crate) async fn allocate(
    client: &Client,
    file: &Handle,
    stateid: Stateid,
    (offset, length): (u64, u64),
) -> Result<()> {
    let operations = [putfh(file), ArgOp::Allocate(AllocateArgs { stateid, offset, length })];
    let reply = client.call(&Request::changing("ALLOCATE", &operations)).await?;
    let mut results = reply.results();
    results.ok::<Putfh, _>()?;
    results.ok::<Allocate, _>()
}
