//! Locks in the kernel's form.

use rustix::io::Errno;
use vfs::{FileLock, LockOwner};

use crate::abi::LK_FLOCK;
use crate::arguments::Arguments;
use crate::local_locks::{LocalLock, LockCall};
use crate::output::Output;

/// The kernel's last byte of a file, for "to the end".
const LAST_BYTE: u64 = i64::MAX.cast_unsigned();
const SHARED: u32 = 0;
const EXCLUSIVE: u32 = 1;
const NONE: u32 = 2;

/// `fuse_lk_in`.
pub(super) struct LockRequest {
    pub(super) file: u64,
    pub(super) call: LockCall,
    /// The range to lock or unlock, and who requests it.
    pub(super) wanted: LocalLock,
    pub(super) is_unlock: bool,
}

impl LockRequest {
    pub(super) fn parse(mut arguments: Arguments<'_>) -> Result<LockRequest, Errno> {
        let (file, owner) = (arguments.u64()?, LockOwner(arguments.u64()?));
        let (first_bytes, last) = (arguments.u64()?, arguments.u64()?);
        let (kind, pid, flags) = (arguments.u32()?, arguments.u32()?, arguments.u32()?);
        if last < first_bytes || !matches!(kind, SHARED | EXCLUSIVE | NONE) {
            return Err(Errno::INVAL);
        }
        let last_bytes = if last >= LAST_BYTE { u64::MAX } else { last };
        let lock = FileLock { first_bytes, last_bytes, exclusive: kind == EXCLUSIVE };
        let call = if flags & LK_FLOCK == 0 { LockCall::Fcntl } else { LockCall::Flock };
        Ok(LockRequest { file, call, wanted: LocalLock { owner, pid, lock }, is_unlock: kind == NONE })
    }
}

/// `fuse_lk_out` for the conflicting lock and the process that holds it, or none.
pub(super) fn put(output: &mut Output, taken: Option<(FileLock, u32)>) {
    let (lock, pid) = taken.unzip();
    let kind = lock.map_or(NONE, |lock| if lock.exclusive { EXCLUSIVE } else { SHARED });
    output.u64(lock.map_or(0, |lock| lock.first_bytes.min(LAST_BYTE)));
    output.u64(lock.map_or(LAST_BYTE, |lock| lock.last_bytes.min(LAST_BYTE)));
    output.u32(kind);
    output.u32(pid.unwrap_or(0));
}
