//! READ: bytes of a file, lent by the file system or read into the reply.

use rustix::io::Errno;
use vfs::{Context, ReadBytes};

use crate::abi::{MAX_DATA_BYTES, flags};
use crate::dispatch::{Call, FuseResult};
use crate::errno::errno;

pub(crate) fn run(call: Call<'_>) -> FuseResult {
    let mut arguments = call.arguments();
    let opened = call.session.files.get(arguments.u64()?)?;
    let offset_bytes = arguments.u64()?;
    let size = arguments.u32()? as usize;
    let (_read_flags, _lock_owner, flags) = (arguments.u32()?, arguments.u64()?, arguments.u32()?);
    if size > MAX_DATA_BYTES {
        return Err(Errno::INVAL);
    }
    let cx = Context { past_caches: flags & flags::DIRECT != 0, ..opened.context(call.worker) };
    match opened.file.read_lent(&cx, offset_bytes, call.output.room(size)).map_err(errno)? {
        ReadBytes::Copied(count) => call.output.advance(count.min(size)),
        ReadBytes::Lent(bytes) => call.output.lend(bytes, size),
    }
    Ok(())
}
