use bytes::Bytes;
use proto::nfs4::{ArgOp, Getattr, GetattrArgs, Putfh, StableHow, Stateid, Write};
use vfs::Stability;

use super::attributes;
use super::caller::Caller;
use super::putfh::putfh;
use super::request::{Request, Told, WriteTail};
use crate::FileChange;
use crate::write_reply::WriteReply;
use crate::{Handle, Reason, Result, Written};

/// Writes `data` without opening the file.
pub async fn write(
    caller: &impl Caller,
    file: &Handle,
    offset: u64,
    data: Bytes,
    stability: Stability,
) -> Result<(Written, FileChange)> {
    let stable = wire(stability);
    let write = WriteTail { stateid: Stateid::ANONYMOUS, offset, stable, data, told: Told::After };
    write_as(caller, file, write).await
}

/// Writes under a stateid (RFC 7530 §16.36, RFC 8881 §18.32). Returns the version before and the attributes afterwards,
/// if requested and reported; WRITE itself has neither.
pub async fn write_as(caller: &impl Caller, file: &Handle, write: WriteTail) -> Result<(Written, FileChange)> {
    let (given, stable, told) = (write.data.len(), write.stable, write.told);
    let is_compared = told == Told::Both;
    let operations = [putfh(file), ArgOp::Getattr(GetattrArgs { request: attributes::VERSION })];
    let operations = &operations[..1 + usize::from(is_compared)];
    // The same bytes may be written twice, but a reply from before a restart must not pass for one from after it.
    let request = Request { name: "WRITE", operations, write: Some(write), is_kept: true };
    let reply = caller.call(&request).await?;
    let mut results = reply.results();
    results.ok::<Putfh, _>()?;
    let before = if is_compared { attributes::version(&results.ok::<Getattr, _>()?) } else { None };
    let ok = results.ok::<Write, _>()?;
    let said = WriteReply { count: ok.count, stability: neutral(ok.committed), verifier: ok.verifier };
    let written = said.check(given, neutral(stable)).map_err(|lie| reply.error(Reason::Lie(lie)))?;
    // The data was written even if the attributes are missing.
    let found = if told == Told::Nothing { None } else { results.ok::<Getattr, _>().ok() };
    let after = found.and_then(|found| attributes::neutral(&found).ok());
    Ok((written, FileChange { before, after }))
}

/// The wire form of a stability.
pub fn wire(stability: Stability) -> StableHow {
    match stability {
        Stability::Unstable => StableHow::Unstable,
        Stability::Data => StableHow::DataSync,
        Stability::File => StableHow::FileSync,
    }
}

fn neutral(stable: StableHow) -> Stability {
    match stable {
        StableHow::Unstable => Stability::Unstable,
        StableHow::DataSync => Stability::Data,
        StableHow::FileSync => Stability::File,
    }
}
