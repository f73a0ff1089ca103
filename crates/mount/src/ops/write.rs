//! WRITE: writes bytes to a file.

use vfs::Stability;

use super::set_ids;
use crate::abi::{WRITE_ENDS_SET_IDS, flags};
use crate::dispatch::{Call, FuseResult};
use crate::errno::errno;

pub(crate) fn run(call: Call<'_>) -> FuseResult {
    let mut arguments = call.arguments();
    let opened = call.session.files.get(arguments.u64()?)?;
    let offset_bytes = arguments.u64()?;
    let size = arguments.u32()? as usize;
    let write_flags = arguments.u32()?;
    let _lock_owner = arguments.u64()?;
    let flags = arguments.u32()?;
    arguments.u32()?;
    let data = arguments.bytes(size)?;
    let is_synchronous = call.session.options.is_synchronous || flags & (flags::DSYNC | flags::DIRECT) != 0;
    let stability = if is_synchronous { Stability::File } else { Stability::Unstable };
    let cx = opened.context(call.worker);
    if write_flags & WRITE_ENDS_SET_IDS != 0 {
        set_ids::end(&call, &cx, &opened.handle);
    }
    opened.note_written();
    let written = opened.file.write_at(&cx, offset_bytes, data, stability).map_err(errno);
    let written = call.session.files.report(&opened, written)?;
    call.output.u32(u32::try_from(written.count).unwrap_or(u32::MAX));
    call.output.u32(0);
    Ok(())
}
