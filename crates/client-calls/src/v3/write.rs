use bytes::Bytes;
use proto::nfs3::{FileHandle, StableHow, Write};
use vfs::Stability;
use xdr::Encode;

use super::arguments::{handle, success};
use super::attributes;
use crate::connection::Connection;
use crate::types::FileChange;
use crate::write_reply::WriteReply;
use crate::{Handle, Reason, Result, Written};

/// The arguments of WRITE up to the data, which is not copied.
#[derive(Encode)]
struct WriteHead {
    file: FileHandle,
    offset: u64,
    count: u32,
    stable: StableHow,
}

/// Writes `data` (RFC 1813 §3.3.7). Returns the version before and the attributes afterwards, if the reply has them.
pub async fn write(
    connection: &Connection,
    file: &Handle,
    offset: u64,
    data: Bytes,
    stability: Stability,
) -> Result<(Written, FileChange)> {
    let given = data.len();
    let count = u32::try_from(given).unwrap_or(u32::MAX);
    let head = WriteHead { file: handle::<Write>(connection, file)?, offset, count, stable: wire(stability) };
    let response = connection.call_with_data::<Write>(&head, Some(data)).await?;
    let ok = success(&response, response.decode()?)?;
    let said = WriteReply { count: ok.count, stability: neutral(ok.committed), verifier: ok.verifier };
    let written = said.check(given, stability).map_err(|lie| response.error(Reason::Lie(lie)))?;
    Ok((written, attributes::file_change(&ok.file_wcc)))
}

fn wire(stability: Stability) -> StableHow {
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
