use proto::nfs3::{Commit, CommitArgs};

use super::arguments::{handle, success};
use super::attributes;
use crate::connection::Connection;
use crate::{Handle, Result, WriteVerifier};
use vfs::Attributes;

/// Commits written data to stable storage: `count` bytes, or all to the end if it is 0 (RFC 1813 §3.3.21). Returns the
/// attributes afterwards, if the reply has them.
pub async fn commit(
    connection: &Connection,
    file: &Handle,
    offset: u64,
    count: u32,
) -> Result<(WriteVerifier, Option<Attributes>)> {
    let file = handle::<Commit>(connection, file)?;
    let response = connection.call::<Commit>(&CommitArgs { file, offset, count }).await?;
    let ok = success(&response, response.decode()?)?;
    Ok((WriteVerifier(ok.verifier), ok.file_wcc.after.as_ref().map(attributes::neutral)))
}
