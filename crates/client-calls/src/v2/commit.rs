use crate::connection::Connection;
use crate::{Handle, Result, WriteVerifier};
use vfs::Attributes;

/// Does nothing: every WRITE was stable when it was answered (RFC 1094 §2.2.9).
pub async fn commit(
    _: &Connection,
    _: &Handle,
    _offset: u64,
    _count: u32,
) -> Result<(WriteVerifier, Option<Attributes>)> {
    Ok((WriteVerifier::default(), None))
}
