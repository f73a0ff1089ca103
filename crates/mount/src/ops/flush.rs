//! FLUSH: a descriptor of an open file is closed. `close` returns once the file's data is at the server, or fails.
//!
//! The kernel closes a process's files when it ends, and then accepts no signals: nothing interrupts the FLUSH of a
//! process that was killed. So each FLUSH is watched from its beginning (`flights.rs`); the data is sent all the same.

use rustix::io::Errno;
use vfs::{Error, LockOwner};

use crate::callers;
use crate::dispatch::{Call, FuseResult};
use crate::errno::errno;
use crate::local_locks::LockCall;

pub(crate) fn run(call: Call<'_>) -> FuseResult {
    let mut arguments = call.arguments();
    let opened = call.session.files.get(arguments.u64()?)?;
    arguments.u64()?;
    let owner = LockOwner(arguments.u64()?);
    call.session.flights.watch(call.request.unique, callers::ends_by_signal);
    let flushed = opened.flush(call.worker).map_err(errno);
    // The close of a file that is only read reports nothing.
    let flushed = if opened.is_writable { call.session.files.report(&opened, flushed) } else { flushed };
    if call.session.files.take_locker(opened.handle, owner) {
        match call.session.unlock(&opened, LockCall::Fcntl, owner, 0..=u64::MAX) {
            Ok(()) | Err(Error::NotSupported) => {}
            Err(error) => tracing::warn!(%error, "cannot release the locks of a closed file"),
        }
    }
    flushed.map_err(|error| if error == Errno::NOSYS { Errno::IO } else { error })
}
