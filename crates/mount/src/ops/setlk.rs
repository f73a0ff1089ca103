//! SETLK and SETLKW: take and release `fcntl` and `flock` locks; SETLKW waits for them.

use super::lock_range::LockRequest;
use crate::dispatch;
use crate::dispatch::{Call, FuseResult};
use crate::errno::errno;
use crate::local_locks::LockCall;
use crate::lock_waits::LockWait;

pub(crate) fn run(call: Call<'_>) -> FuseResult {
    let LockRequest { file, call: by, wanted, is_unlock } = LockRequest::parse(call.arguments())?;
    let opened = call.session.files.get(file)?;
    if is_unlock {
        let range_bytes = wanted.lock.first_bytes..=wanted.lock.last_bytes;
        return call.session.unlock(&opened, by, wanted.owner, range_bytes).map_err(errno);
    }
    // Noted before the lock is granted, so that a close in between releases it.
    if by == LockCall::Fcntl {
        call.session.files.note_locker(file, &opened, wanted.owner);
    }
    let wait = LockWait { unique: call.request.unique, node: call.request.node, file: opened, call: by, wanted };
    call.output.postpone();
    call.session.lock_waits.begin(call.session, wait, dispatch::waits_for_a_lock(call.request));
    Ok(())
}
