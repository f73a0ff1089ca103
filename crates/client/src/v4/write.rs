use bytes::Bytes;
use proto::nfs4::{Putfh, StableHow, Stateid, Write};
use vfs::{Attributes, Stability};

use super::client::Client;
use super::putfh;
use super::request::{Request, WriteTail};
use crate::{Handle, Lie, Reason, Result, WriteVerifier, Written};

/// Writes `data` without opening the file. The data ends the COMPOUND, so that nothing asks what the file is like then.
pub(crate) async fn write(
    client: &Client,
    file: &Handle,
    offset: u64,
    data: Bytes,
    stability: Stability,
) -> Result<(Written, Option<Attributes>)> {
    let write = WriteTail { stateid: Stateid::ANONYMOUS, offset, stable: wire(stability), data };
    Ok((write_as(client, file, write).await?, None))
}

/// Writes under a stateid (RFC 7530 §16.36, RFC 8881 §18.32).
pub(crate) async fn write_as(client: &Client, file: &Handle, write: WriteTail) -> Result<Written> {
    let (given, stable) = (write.data.len(), write.stable);
    let count = u32::try_from(given).unwrap_or(u32::MAX);
    let operations = [putfh(file)];
    // The same bytes may be written twice, but a reply of before a restart must not be taken for one of after it.
    let request = Request { name: "WRITE", operations: &operations, write: Some(write), is_kept: true };
    let reply = client.call(&request).await?;
    let mut results = reply.results();
    results.ok::<Putfh, _>()?;
    let ok = results.ok::<Write, _>()?;
    if ok.count > count || (ok.count == 0 && count > 0) {
        return Err(reply.error(Reason::Lie(Lie::WrongWrite { said: ok.count, given })));
    }
    let done = neutral(ok.committed);
    if done < neutral(stable) {
        return Err(reply.error(Reason::Lie(Lie::LessStable)));
    }
    Ok(Written { count: ok.count, stability: done, verifier: WriteVerifier(ok.verifier) })
}

/// How safe bytes must be, as it is sent.
pub(crate) fn wire(stability: Stability) -> StableHow {
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
