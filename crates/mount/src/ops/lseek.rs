//! LSEEK: the offset of the next data or hole. The kernel handles other seeks by itself.

use rustix::io::Errno;
use vfs::{Error, Seek};

use crate::dispatch::{Call, FuseResult};
use crate::errno::errno;

/// SEEK_DATA and SEEK_HOLE of `lseek(2)`.
const DATA: u32 = 3;
const HOLE: u32 = 4;

pub(crate) fn run(call: Call<'_>) -> FuseResult {
    let mut arguments = call.arguments();
    let opened = call.session.files.get(arguments.u64()?)?;
    let offset_bytes = arguments.u64()?;
    let what = match arguments.u32()? {
        DATA => Seek::Data,
        HOLE => Seek::Hole,
        _ => return Err(Errno::INVAL),
    };
    match opened.file.seek(&opened.context(call.worker), offset_bytes, what) {
        Ok(Some(found)) => call.output.u64(found),
        Ok(None) => return Err(Errno::NXIO),
        // The kernel then treats every file as all data.
        Err(Error::NotSupported) => return Err(Errno::NOSYS),
        Err(error) => return Err(errno(error)),
    }
    Ok(())
}
