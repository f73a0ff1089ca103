//! FALLOCATE: allocates or deallocates space for a range of a file.

use rustix::io::Errno;

use crate::dispatch::{Call, FuseResult};
use crate::errno::errno;

/// FALLOC_FL_KEEP_SIZE and FALLOC_FL_PUNCH_HOLE of `fallocate(2)`.
const KEEP_SIZE: u32 = 1;
const PUNCH_HOLE: u32 = 2;

pub(crate) fn run(call: Call<'_>) -> FuseResult {
    let mut arguments = call.arguments();
    let opened = call.session.files.get(arguments.u64()?)?;
    let (start, length) = (arguments.u64()?, arguments.u64()?);
    let mode = arguments.u32()?;
    let end = start.checked_add(length).ok_or(Errno::FBIG)?;
    let cx = opened.context(call.worker);
    opened.note_written();
    match mode {
        0 => opened.file.allocate(&cx, start..end).map_err(errno),
        mode if mode == KEEP_SIZE | PUNCH_HOLE => opened.file.deallocate(&cx, start..end).map_err(errno),
        // NFS cannot allocate space behind the end of a file (RFC 7862 §15.1).
        _ => Err(Errno::OPNOTSUPP),
    }
}
