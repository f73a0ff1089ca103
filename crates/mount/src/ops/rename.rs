//! RENAME and RENAME2: another name for a file, in one step.

use rustix::io::Errno;
use vfs::Place;

use crate::arguments::Arguments;
use crate::dispatch::{Call, Outcome};
use crate::errno::errno;

pub(crate) fn run(call: Call<'_>) -> Outcome {
    let mut arguments = call.arguments();
    let to_dir = arguments.u64()?;
    rename(&call, to_dir, arguments)
}

/// RENAME2. Neither an exchange nor a renaming that spares what is there can be done in one step through NFS, and several would
/// not be what was asked for; programs that meet EINVAL do without.
pub(crate) fn run_with_flags(call: Call<'_>) -> Outcome {
    let mut arguments = call.arguments();
    let to_dir = arguments.u64()?;
    let flags = arguments.u32()?;
    arguments.u32()?;
    if flags == 0 { rename(&call, to_dir, arguments) } else { Err(Errno::INVAL) }
}

fn rename(call: &Call<'_>, to_dir: u64, mut names: Arguments<'_>) -> Outcome {
    let from = Place { dir: call.handle()?, name: names.name()? };
    let to = Place { dir: call.session.nodes.handle(to_dir)?, name: names.name()? };
    let identity = call.identity();
    call.session.fs.rename(&call.context(&identity), from, to).map_err(errno)
}
