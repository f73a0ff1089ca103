//! FLUSH: a descriptor of an open file is closed. `close` returns once the file's data is at the server, or fails.

use rustix::io::Errno;
use vfs::{Error, LockOwner};

use crate::dispatch::{Call, FuseResult};
use crate::errno::errno;

pub(crate) fn run(call: Call<'_>) -> FuseResult {
    let mut arguments = call.arguments();
    let opened = call.session.files.get(arguments.u64()?)?;
    arguments.u64()?;
    let owner = LockOwner(arguments.u64()?);
    let flushed = opened.flush(call.worker);
    if call.session.files.take_locker(opened.handle, owner) {
        let cx = opened.context(call.worker);
        match opened.file.unlock(&cx, owner, 0..=u64::MAX) {
            Ok(()) | Err(Error::NotSupported) => call.session.lock_waits.hurry(),
            Err(error) => tracing::warn!(%error, "cannot release the locks of a closed file"),
        }
    }
    flushed.map_err(errno).map_err(|error| if error == Errno::NOSYS { Errno::IO } else { error })
}
