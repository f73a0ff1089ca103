//! READLINK: the target of a symbolic link.

use rustix::io::Errno;

use crate::dispatch::{Call, FuseResult};
use crate::errno::errno;

/// The longest target that the kernel accepts, in bytes: a page without the final NUL.
const MAX_TARGET_BYTES: usize = 4095;

pub(crate) fn run(call: Call<'_>) -> FuseResult {
    let identity = call.identity();
    let target = call.session.fs.read_link(&call.context(&identity), &call.handle()?).map_err(errno)?;
    if target.len() > MAX_TARGET_BYTES {
        return Err(Errno::NAMETOOLONG);
    }
    call.output.bytes(&target);
    Ok(())
}
