//! RELEASE: the last descriptor of an open file was closed.

use vfs::LockOwner;

use crate::abi::RELEASE_FLOCK_UNLOCK;
use crate::dispatch::{Call, FuseResult};

pub(crate) fn run(call: Call<'_>) -> FuseResult {
    let mut arguments = call.arguments();
    let number = arguments.u64()?;
    let _flags = arguments.u32()?;
    let release_flags = arguments.u32()?;
    let owner = LockOwner(arguments.u64()?);
    let Some(opened) = call.session.files.remove(number) else { return Ok(()) };
    let cx = opened.context(call.worker);
    let mut lockers = call.session.files.take_lockers_by(number, &opened);
    if release_flags & RELEASE_FLOCK_UNLOCK != 0 {
        lockers.push(owner);
    }
    for owner in lockers {
        match opened.file.unlock(&cx, owner, 0..=u64::MAX) {
            Ok(()) => call.session.lock_waits.hurry(),
            Err(error) => tracing::warn!(%error, "cannot release a lock of a closed file"),
        }
    }
    // Data written through a mapping after the last close has no caller that could get the error.
    if let Err(error) = opened.flush(call.worker) {
        tracing::warn!(%error, "data written to a file after its close is lost");
    }
    Ok(())
}
