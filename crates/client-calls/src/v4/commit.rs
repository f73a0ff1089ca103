use proto::nfs4::{ArgOp, Commit, CommitArgs, Getattr, GetattrArgs, Putfh};
use vfs::Attributes;

use super::attributes;
use super::caller::Caller;
use super::putfh::putfh;
use super::request::Request;
use crate::{Handle, Result, WriteVerifier};

/// Commits written data to stable storage (RFC 7530 §16.3, RFC 8881 §18.3). Returns the attributes afterwards, if the
/// reply has them.
pub async fn commit(
    caller: &impl Caller,
    file: &Handle,
    offset: u64,
    count: u32,
) -> Result<(WriteVerifier, Option<Attributes>)> {
    let getattr = ArgOp::Getattr(GetattrArgs { request: attributes::ALL });
    let operations = [putfh(file), ArgOp::Commit(CommitArgs { offset, count }), getattr];
    let reply = caller.call(&Request::reading("COMMIT", &operations)).await?;
    let mut results = reply.results();
    results.ok::<Putfh, _>()?;
    let verifier = results.ok::<Commit, _>().map(WriteVerifier)?;
    let after = results.ok::<Getattr, _>().ok().and_then(|found| attributes::neutral(&found).ok());
    Ok((verifier, after))
}
