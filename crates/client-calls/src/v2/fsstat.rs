use proto::nfs2::{Statfs, StatfsArgs};
use vfs::Space;

use super::arguments::{handle, success};
use crate::connection::Connection;
use crate::{Handle, Result};

/// The space of the file system (RFC 1094 §2.2.18); the numbers of files are unknown.
pub async fn fsstat(connection: &Connection, file: &Handle) -> Result<Space> {
    let file = handle::<Statfs>(connection, file)?;
    let response = connection.call::<Statfs>(&StatfsArgs { file }).await?;
    let ok = success(&response, response.decode()?)?;
    let bytes = |blocks: u32| u64::from(blocks) * u64::from(ok.block_bytes);
    Ok(Space {
        total_bytes: bytes(ok.total_blocks),
        free_bytes: bytes(ok.free_blocks),
        available_bytes: bytes(ok.available_blocks),
        ..Space::default()
    })
}
