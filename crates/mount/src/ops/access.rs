//! ACCESS: checks the caller's rights when the kernel does not do so itself.

use rustix::io::Errno;
use vfs::Access;

use crate::dispatch::{Call, FuseResult};
use crate::errno::errno;

pub(crate) fn run(call: Call<'_>) -> FuseResult {
    let wanted = Access::from_mode_bits(call.arguments().u32()?);
    let handle = call.handle()?;
    let identity = call.identity();
    let cx = call.context(&identity);
    let attributes = call.session.fs.attributes(&cx, &handle).map_err(errno)?;
    let allowed = call.session.fs.access(&cx, &handle, &attributes, wanted).map_err(errno)?;
    if allowed.contains(wanted) { Ok(()) } else { Err(Errno::ACCESS) }
}
