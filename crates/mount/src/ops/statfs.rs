//! STATFS: the space of the file system.

use crate::dispatch::{Call, FuseResult};
use crate::errno::errno;

/// The unit of the counts, in bytes.
const BLOCK_BYTES: u64 = 4096;

pub(crate) fn run(call: Call<'_>) -> FuseResult {
    let identity = call.identity();
    let space = call.session.fs.space(&call.context(&identity), &call.handle()?).map_err(errno)?;
    for bytes in [space.total_bytes, space.free_bytes, space.available_bytes] {
        call.output.u64(bytes / BLOCK_BYTES);
    }
    call.output.u64(space.total_files);
    call.output.u64(space.free_files);
    call.output.u32(BLOCK_BYTES as u32);
    call.output.u32(call.session.properties.max_name_bytes);
    call.output.u32(BLOCK_BYTES as u32);
    call.output.zeros(28);
    Ok(())
}
