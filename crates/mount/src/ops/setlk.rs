//! SETLK and SETLKW: take and release `fcntl` and `flock` locks; SETLKW waits for them.
//!
//! The lock thread releases the locks of a file that may be written: the kernel first sends what mappings changed.

use super::lock_range::LockRequest;
use crate::dispatch;
use crate::dispatch::{Call, FuseResult};
use crate::errno::errno;
use crate::local_locks::LockCall;
use crate::lock_waits::LockWait;

pub(crate) fn run(call: Call<'_>) -> FuseResult {
    let LockRequest { file, call: by, wanted, is_unlock } = LockRequest::parse(call.arguments())?;
    let opened = call.session.files.get(file)?;
    let (unique, node) = (call.request.unique, call.request.node);
    if is_unlock && !opened.is_writable {
        return call.session.unlock(&opened, by, wanted.owner, wanted.range_bytes()).map_err(errno);
    }
    let wait = LockWait { unique, node, file: opened, call: by, wanted };
    if is_unlock {
        call.output.postpone();
        call.session.lock_waits.release(wait);
        return Ok(());
    }
    // Noted before the lock is granted, so that a close in between releases it.
    if by == LockCall::Fcntl {
        call.session.files.note_locker(file, &wait.file, wait.wanted.owner);
    }
    call.output.postpone();
    call.session.lock_waits.begin(call.session, wait, dispatch::waits_for_a_lock(call.request));
    Ok(())
}
