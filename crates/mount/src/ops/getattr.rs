//! GETATTR: the attributes of a file.

use crate::dispatch::{Call, FuseResult};
use crate::errno::errno;

/// The request names an open file.
const HAS_FILE: u32 = 1 << 0;

pub(crate) fn run(mut call: Call<'_>) -> FuseResult {
    let mut arguments = call.arguments();
    let flags = arguments.u32()?;
    arguments.u32()?;
    let number = arguments.u64()?;
    let opened = if flags & HAS_FILE == 0 { None } else { call.session.files.get(number).ok() };
    let attributes = match opened {
        // A file without a name is reached only through its open file.
        Some(opened) => opened.file.attributes(&opened.context(call.worker)),
        None => {
            let identity = call.identity();
            call.session.fs.attributes(&call.context(&identity), &call.handle()?)
        }
    };
    call.reply_attributes(&attributes.map_err(errno)?);
    Ok(())
}
