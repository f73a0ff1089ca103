//! MKDIR: a new directory.

use vfs::{NewNode, Place, SetAttributes};

use crate::dispatch::{Call, FuseResult};
use crate::errno::errno;

pub(crate) fn run(mut call: Call<'_>) -> FuseResult {
    let mut arguments = call.arguments();
    let mode = arguments.u32()?;
    let _mask = arguments.u32()?;
    let place = Place { dir: call.handle()?, name: arguments.name()? };
    let set = SetAttributes { mode: Some(mode & 0o7777), ..SetAttributes::default() };
    let identity = call.identity();
    let made = call.session.fs.make_node(&call.context(&identity), place, NewNode::Directory, &set);
    call.reply_entry(&made.map_err(errno)?);
    Ok(())
}
