use proto::nfs2::{MAX_DATA_BYTES, Statfs, StatfsArgs};

use super::arguments::{handle, success};
use crate::connection::Connection;
use crate::{FsInfo, Handle, Result};

/// What the server supports: STATFS returns the transfer size (RFC 1094 §2.2.18), the version implies the rest.
pub async fn fsinfo(connection: &Connection, root: &Handle) -> Result<FsInfo> {
    let file = handle::<Statfs>(connection, root)?;
    let response = connection.call::<Statfs>(&StatfsArgs { file }).await?;
    let transfer = success(&response, response.decode()?)?.transfer_bytes.min(MAX_DATA_BYTES as u32);
    Ok(FsInfo {
        read_max: transfer,
        read_preferred: transfer,
        write_max: transfer,
        write_preferred: transfer,
        readdir_preferred: transfer,
        max_file_bytes: u64::from(u32::MAX),
        time_step_ns: 1000,
        has_hard_links: true,
        has_symlinks: true,
        is_homogeneous: true,
        can_set_times: true,
    })
}
