//! RENAME and RENAME2: renames a file atomically.

use rustix::io::Errno;
use vfs::Place;

use crate::arguments::Arguments;
use crate::dispatch::{Call, FuseResult};
use crate::errno::errno;

pub(crate) fn run(call: Call<'_>) -> FuseResult {
    let mut arguments = call.arguments();
    let to_dir = arguments.u64()?;
    rename(&call, to_dir, arguments)
}

/// RENAME2. NFS can neither exchange two files atomically nor rename without replacing, and several steps would not be
/// atomic. Programs that get EINVAL do without.
pub(crate) fn run_with_flags(call: Call<'_>) -> FuseResult {
    let mut arguments = call.arguments();
    let to_dir = arguments.u64()?;
    let flags = arguments.u32()?;
    arguments.u32()?;
    if flags == 0 { rename(&call, to_dir, arguments) } else { Err(Errno::INVAL) }
}

fn rename(call: &Call<'_>, to_dir: u64, mut names: Arguments<'_>) -> FuseResult {
    let from = Place { dir: call.handle()?, name: names.name()? };
    let to = Place { dir: call.session.nodes.handle(to_dir)?, name: names.name()? };
    let identity = call.identity();
    call.session.fs.rename(&call.context(&identity), from, to).map_err(errno)
}
