use proto::nfs3::{FsArgs, Fsstat};
use vfs::Space;

use super::arguments::{handle, success};
use crate::connection::Connection;
use crate::{Handle, Result};

/// The space and the file counts of the file system (RFC 1813 §3.3.18).
pub async fn fsstat(connection: &Connection, file: &Handle) -> Result<Space> {
    let object = handle::<Fsstat>(connection, file)?;
    let response = connection.call::<Fsstat>(&FsArgs { object }).await?;
    let ok = success(&response, response.decode()?)?;
    Ok(Space {
        total_bytes: ok.total_bytes,
        free_bytes: ok.free_bytes,
        available_bytes: ok.available_bytes,
        total_files: ok.total_files,
        free_files: ok.free_files,
        available_files: ok.available_files,
    })
}
