//! GETLK: tests whether a lock would be granted.

use vfs::LockOutcome;

use super::lock_range::{self, LockRequest};
use crate::dispatch::{Call, FuseResult};
use crate::errno::errno;

pub(crate) fn run(call: Call<'_>) -> FuseResult {
    let wanted = LockRequest::parse(call.arguments())?;
    let opened = call.session.files.get(wanted.file)?;
    let outcome = opened.file.test_lock(&opened.context(call.worker), wanted.owner, wanted.lock).map_err(errno)?;
    let taken = match outcome {
        LockOutcome::Free => None,
        LockOutcome::Taken(lock) => Some(lock),
    };
    lock_range::put(call.output, taken);
    Ok(())
}
