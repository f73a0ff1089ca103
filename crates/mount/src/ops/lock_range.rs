//! Locks in the kernel's form.

use rustix::io::Errno;
use vfs::{FileLock, LockOwner};

use crate::arguments::Arguments;
use crate::output::Output;

/// The kernel's last byte of a file, for "to the end".
const LAST_BYTE: u64 = i64::MAX.cast_unsigned();
const SHARED: u32 = 0;
const EXCLUSIVE: u32 = 1;
const NONE: u32 = 2;

/// `fuse_lk_in`.
pub(super) struct LockRequest {
    pub(super) file: u64,
    pub(super) owner: LockOwner,
    /// The range to lock or unlock.
    pub(super) lock: FileLock,
    pub(super) is_unlock: bool,
    pub(super) flags: u32,
}

impl LockRequest {
    pub(super) fn parse(mut arguments: Arguments<'_>) -> Result<LockRequest, Errno> {
        let (file, owner) = (arguments.u64()?, LockOwner(arguments.u64()?));
        let (first_bytes, last) = (arguments.u64()?, arguments.u64()?);
        let (kind, _pid, flags) = (arguments.u32()?, arguments.u32()?, arguments.u32()?);
        if last < first_bytes || !matches!(kind, SHARED | EXCLUSIVE | NONE) {
            return Err(Errno::INVAL);
        }
        let last_bytes = if last >= LAST_BYTE { u64::MAX } else { last };
        let lock = FileLock { first_bytes, last_bytes, exclusive: kind == EXCLUSIVE };
        Ok(LockRequest { file, owner, lock, is_unlock: kind == NONE, flags })
    }
}

/// `fuse_lk_out` for the conflicting lock, or none. The process that holds it is unknown here.
pub(super) fn put(output: &mut Output, lock: Option<FileLock>) {
    let kind = lock.map_or(NONE, |lock| if lock.exclusive { EXCLUSIVE } else { SHARED });
    output.u64(lock.map_or(0, |lock| lock.first_bytes.min(LAST_BYTE)));
    output.u64(lock.map_or(LAST_BYTE, |lock| lock.last_bytes.min(LAST_BYTE)));
    output.u32(kind);
    output.u32(0);
}
