use proto::nfs3::{self, FsArgs, Fsinfo};

use super::arguments::{handle, success};
use crate::connection::Connection;
use crate::{FsInfo, Handle, Result};

/// What the file system and the server support (RFC 1813 §3.3.19).
pub async fn fsinfo(connection: &Connection, root: &Handle) -> Result<FsInfo> {
    let object = handle::<Fsinfo>(connection, root)?;
    let response = connection.call::<Fsinfo>(&FsArgs { object }).await?;
    let ok = success(&response, response.decode()?)?;
    let has = |property| ok.properties & property != 0;
    Ok(FsInfo {
        read_max: ok.read_max,
        read_preferred: ok.read_preferred,
        write_max: ok.write_max,
        write_preferred: ok.write_preferred,
        readdir_preferred: ok.readdir_preferred,
        max_file_bytes: ok.max_file_bytes,
        time_step_ns: u64::from(ok.time_delta.seconds) * 1_000_000_000 + u64::from(ok.time_delta.nanoseconds),
        has_hard_links: has(nfs3::FSF_LINK),
        has_symlinks: has(nfs3::FSF_SYMLINK),
        is_homogeneous: has(nfs3::FSF_HOMOGENEOUS),
        can_set_times: has(nfs3::FSF_CANSETTIME),
    })
}
