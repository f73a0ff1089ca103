//! RELEASE: the last descriptor of an open file was closed.

use vfs::LockOwner;

use crate::abi::RELEASE_FLOCK_UNLOCK;
use crate::dispatch::{Call, FuseResult};
use crate::local_locks::LockCall;

pub(crate) fn run(call: Call<'_>) -> FuseResult {
    let mut arguments = call.arguments();
    let number = arguments.u64()?;
    let _flags = arguments.u32()?;
    let release_flags = arguments.u32()?;
    let owner = LockOwner(arguments.u64()?);
    let Some(opened) = call.session.files.remove(number) else { return Ok(()) };
    let lockers = call.session.files.take_lockers_by(number, &opened);
    let by_flock = (release_flags & RELEASE_FLOCK_UNLOCK != 0).then_some((LockCall::Flock, owner));
    for (by, owner) in lockers.into_iter().map(|owner| (LockCall::Fcntl, owner)).chain(by_flock) {
        if let Err(error) = call.session.unlock(&opened, by, owner, 0..=u64::MAX) {
            tracing::warn!(%error, "cannot release a lock of a closed file");
        }
    }
    // Data written through a mapping after the last close has no caller that could get the error.
    if let Err(error) = opened.flush(call.worker) {
        tracing::warn!(%error, "data written to a file after its close is lost");
    }
    Ok(())
}
