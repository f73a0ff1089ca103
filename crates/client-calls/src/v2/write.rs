use bytes::Bytes;
use proto::nfs2::{FileHandle, Write};
use vfs::Stability;
use xdr::Encode;

use super::arguments::{handle, success, word};
use super::attributes;
use crate::connection::Connection;
use crate::types::FileChange;
use crate::{Handle, Result, WriteVerifier, Written};

/// The arguments of WRITE up to the data, which is not copied.
#[derive(Encode)]
struct WriteHead {
    file: FileHandle,
    begin_offset: u32,
    offset: u32,
    total_count: u32,
}

/// Writes `data`, always to stable storage (RFC 1094 §2.2.9), and returns the attributes afterwards.
pub async fn write(
    connection: &Connection,
    file: &Handle,
    offset: u64,
    data: Bytes,
    _stability: Stability,
) -> Result<(Written, FileChange)> {
    let count = u32::try_from(data.len()).unwrap_or(u32::MAX);
    // The end must fit too.
    word::<Write>(connection, offset.saturating_add(u64::from(count)))?;
    let offset = word::<Write>(connection, offset)?;
    let file = handle::<Write>(connection, file)?;
    let head = WriteHead { file, begin_offset: 0, offset, total_count: count };
    let response = connection.call_with_data::<Write>(&head, Some(data)).await?;
    let after = attributes::neutral(&success(&response, response.decode()?)?);
    let written = Written { count, stability: Stability::File, verifier: WriteVerifier::default() };
    Ok((written, FileChange { before: None, after: Some(after) }))
}
