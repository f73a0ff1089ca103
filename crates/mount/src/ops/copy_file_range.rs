//! COPY_FILE_RANGE: copies bytes between files without bringing them here.

use rustix::io::Errno;
use vfs::{CopyRange, Error};

use crate::dispatch::{Call, FuseResult};
use crate::errno::errno;

pub(crate) fn run(call: Call<'_>) -> FuseResult {
    let mut arguments = call.arguments();
    let from = call.session.files.get(arguments.u64()?)?;
    let from_bytes = arguments.u64()?;
    let _node = arguments.u64()?;
    let to = call.session.files.get(arguments.u64()?)?;
    let to_bytes = arguments.u64()?;
    // The reply's count has 32 bits.
    let length_bytes = arguments.u64()?.min(u32::MAX.into());
    to.note_written();
    let range = CopyRange { from_bytes, to_bytes, length_bytes };
    let count =
        to.file.copy_range(&to.context(call.worker), from.file.as_ref(), range).map_err(|error| match error {
            // The kernel reads and writes instead.
            Error::NotSupported | Error::CrossDevice => Errno::OPNOTSUPP,
            error => errno(error),
        })?;
    call.output.u32(u32::try_from(count).unwrap_or(u32::MAX));
    call.output.u32(0);
    Ok(())
}
