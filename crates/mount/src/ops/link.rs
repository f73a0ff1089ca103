//! LINK: a further name for a file.

use vfs::{Entry, Place};

use crate::dispatch::{Call, FuseResult};
use crate::errno::errno;

pub(crate) fn run(mut call: Call<'_>) -> FuseResult {
    let mut arguments = call.arguments();
    let handle = call.session.nodes.handle(arguments.u64()?)?;
    let place = Place { dir: call.handle()?, name: arguments.name()? };
    let identity = call.identity();
    let attributes = call.session.fs.link(&call.context(&identity), &handle, place).map_err(errno)?;
    call.reply_entry(&Entry { handle, attributes });
    Ok(())
}
