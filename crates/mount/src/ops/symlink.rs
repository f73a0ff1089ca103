//! SYMLINK: a new symbolic link.

use vfs::{NewNode, Place, SetAttributes};

use crate::dispatch::{Call, FuseResult};
use crate::errno::errno;

pub(crate) fn run(mut call: Call<'_>) -> FuseResult {
    let mut arguments = call.arguments();
    let place = Place { dir: call.handle()?, name: arguments.name()? };
    let target = NewNode::Symlink(arguments.text()?);
    let identity = call.identity();
    let made = call.session.fs.make_node(&call.context(&identity), place, target, &SetAttributes::default());
    call.reply_entry(&made.map_err(errno)?);
    Ok(())
}
