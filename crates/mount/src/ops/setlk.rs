//! SETLK and SETLKW: take and release `fcntl` and `flock` locks; SETLKW waits for them.

use super::lock_range::LockRequest;
use crate::abi::LK_FLOCK;
use crate::dispatch;
use crate::dispatch::{Call, FuseResult};
use crate::errno::errno;
use crate::lock_waits::LockWait;

pub(crate) fn run(call: Call<'_>) -> FuseResult {
    let LockRequest { file, owner, lock, is_unlock, flags } = LockRequest::parse(call.arguments())?;
    let opened = call.session.files.get(file)?;
    if is_unlock {
        let cx = opened.context(call.worker);
        let unlocked = opened.file.unlock(&cx, owner, lock.first_bytes..=lock.last_bytes).map_err(errno);
        call.session.lock_waits.hurry();
        return unlocked;
    }
    // Noted before the lock is granted, so that a close in between releases it.
    if flags & LK_FLOCK == 0 {
        call.session.files.note_locker(file, &opened, owner);
    }
    let wait = LockWait { unique: call.request.unique, node: call.request.node, file: opened, owner, lock };
    call.output.postpone();
    call.session.lock_waits.begin(call.session, wait, dispatch::waits_for_a_lock(call.request));
    Ok(())
}
