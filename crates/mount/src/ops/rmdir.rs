//! RMDIR: removes a directory.

use vfs::Place;

use crate::dispatch::{Call, FuseResult};
use crate::errno::errno;

pub(crate) fn run(call: Call<'_>) -> FuseResult {
    let place = Place { dir: call.handle()?, name: call.arguments().name()? };
    let identity = call.identity();
    call.session.fs.remove_dir(&call.context(&identity), place).map_err(errno)
}
