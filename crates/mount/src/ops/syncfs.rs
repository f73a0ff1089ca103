//! SYNCFS: brings everything written through the mount to stable storage. Linux sends it for mounts of block devices
//! and virtiofs only; `sync` of another mount returns without it.

use crate::dispatch::{Call, FuseResult};
use crate::errno::errno;

pub(crate) fn run(call: Call<'_>) -> FuseResult {
    let identity = call.identity();
    call.session.fs.sync_all(&call.context(&identity)).map_err(errno)
}
