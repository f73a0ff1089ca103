//! OPENDIR: opens a directory for listing. Its state only shows whether the listing ends.
//!
//! As at the open of a file, the file system is asked for current attributes. A listing then shows what others changed
//! before, and a directory that others replaced is stale here, where the kernel looks its path up again.

use vfs::Context;

use crate::dispatch::{Call, FuseResult};
use crate::errno::errno;
use crate::output::Undo;

pub(crate) fn run(call: Call<'_>) -> FuseResult {
    let identity = call.identity();
    let cx = Context { past_caches: true, ..call.context(&identity) };
    call.session.fs.attributes(&cx, &call.handle()?).map_err(errno)?;
    let number = call.session.open_dirs.insert();
    call.output.gives(Undo::CloseDir(number));
    call.output.u64(number);
    call.output.zeros(8);
    Ok(())
}
